// The routes of the REST API that the console calls. A test compares them with the node's declarations.

import type { Call } from './request.ts';

export type { Call };

const backup = '/_p/backup/api/v1';
const repositories = `${backup}/cluster/self/repository` as const;
const collection = '/pools/default/buckets/:bucket/scopes/:scope/collections/:collection';

export const routes = {
  signIn: 'POST /uilogin',
  signOut: 'POST /uilogout',
  whoAmI: 'GET /whoami',
  checkPermissions: 'POST /pools/default/checkPermissions',
  changeOwnPassword: 'POST /controller/changePassword',

  cluster: 'GET /pools/default',
  setUp: 'POST /clusterInit',
  join: 'POST /node/controller/doJoinCluster',
  setCluster: 'POST /pools/default',
  tasks: 'GET /pools/default/tasks',
  dismissAlerts: 'POST /controller/resetAlerts',
  log: 'GET /logs',
  collectLogs: 'POST /controller/startLogsCollection',
  cancelLogs: 'POST /controller/cancelLogsCollection',

  buckets: 'GET /pools/default/buckets',
  createBucket: 'POST /pools/default/buckets',
  changeBucket: 'POST /pools/default/buckets/:bucket',
  deleteBucket: 'DELETE /pools/default/buckets/:bucket',
  flushBucket: 'POST /pools/default/buckets/:bucket/controller/doFlush',
  compactBucket: 'POST /pools/default/buckets/:bucket/controller/compactBucket',
  cancelCompaction: 'POST /pools/default/buckets/:bucket/controller/cancelBucketCompaction',
  scopes: 'GET /pools/default/buckets/:bucket/scopes',
  createScope: 'POST /pools/default/buckets/:bucket/scopes',
  dropScope: 'DELETE /pools/default/buckets/:bucket/scopes/:scope',
  createCollection: 'POST /pools/default/buckets/:bucket/scopes/:scope/collections',
  dropCollection: `DELETE ${collection}`,

  documents: `GET ${collection}/docs`,
  document: `GET ${collection}/docs/:document`,
  storeDocument: `POST ${collection}/docs/:document`,
  deleteDocument: `DELETE ${collection}/docs/:document`,

  query: 'POST /_p/query/query/service',
  indexes: 'GET /indexStatus',

  addNode: 'POST /controller/addNode',
  ejectNode: 'POST /controller/ejectNode',
  failOver: 'POST /controller/failOver',
  failOverGracefully: 'POST /controller/startGracefulFailover',
  recover: 'POST /controller/setRecoveryType',
  rebalance: 'POST /controller/rebalance',
  stopRebalance: 'POST /controller/stopRebalance',

  ranges: 'POST /pools/default/stats/range',

  remoteClusters: 'GET /pools/default/remoteClusters',
  addRemoteCluster: 'POST /pools/default/remoteClusters',
  deleteRemoteCluster: 'DELETE /pools/default/remoteClusters/:name',
  createReplication: 'POST /controller/createReplication',
  changeRemoteCluster: 'POST /pools/default/remoteClusters/:name',
  replication: 'GET /settings/replications/:replication',
  changeReplication: 'POST /settings/replications/:replication',
  deleteReplication: 'DELETE /controller/cancelXDCR/:replication',

  backupPlans: `GET ${backup}/plan`,
  backupRepositories: `GET ${backup}/cluster/self`,
  createBackupRepository: `POST ${repositories}/active/:repository`,
  archiveBackupRepository: `POST ${repositories}/active/:repository/archive`,
  pauseBackups: `POST ${repositories}/active/:repository/pause`,
  resumeBackups: `POST ${repositories}/active/:repository/resume`,
  deleteBackupRepository: `DELETE ${repositories}/:state/:repository`,
  backups: `GET ${repositories}/:state/:repository/info`,
  backupTasks: `GET ${repositories}/:state/:repository/taskHistory`,
  runBackup: `POST ${repositories}/active/:repository/backup`,
  restoreBackup: `POST ${repositories}/:state/:repository/restore`,
  deleteBackup: `DELETE ${repositories}/active/:repository/backups/:backup`,

  users: 'GET /settings/rbac/users',
  roles: 'GET /settings/rbac/roles',
  groups: 'GET /settings/rbac/groups',
  storeUser: 'PUT /settings/rbac/users/:domain/:user',
  deleteUser: 'DELETE /settings/rbac/users/:domain/:user',
  storeGroup: 'PUT /settings/rbac/groups/:group',
  deleteGroup: 'DELETE /settings/rbac/groups/:group',
  certificates: 'GET /pools/default/certificates',
  authorities: 'GET /pools/default/trustedCAs',
  removeAuthority: 'DELETE /pools/default/trustedCAs/:authority',
  loadAuthorities: 'POST /node/controller/loadTrustedCAs',
  reloadCertificate: 'POST /node/controller/reloadCertificate',
  regenerateCertificates: 'POST /controller/regenerateCertificate',
  clientCertificates: 'GET /settings/clientCertAuth',
  setClientCertificates: 'POST /settings/clientCertAuth',
  audit: 'GET /settings/audit',
  setAudit: 'POST /settings/audit',
  auditEvents: 'GET /settings/audit/descriptors',

  alerts: 'GET /settings/alerts',
  setAlerts: 'POST /settings/alerts',
  testAlerts: 'POST /settings/alerts/sendTestEmail',
  autoFailover: 'GET /settings/autoFailover',
  setAutoFailover: 'POST /settings/autoFailover',
  autoCompaction: 'GET /settings/autoCompaction',
  setAutoCompaction: 'POST /controller/setAutoCompaction',
  passwordPolicy: 'GET /settings/passwordPolicy',
  setPasswordPolicy: 'POST /settings/passwordPolicy',
  security: 'GET /settings/security',
  setSecurity: 'POST /settings/security',
} as const satisfies Readonly<Record<string, Call>>;
