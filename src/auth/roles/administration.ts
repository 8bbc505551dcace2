// Administrative roles: cluster, buckets, security, replications.
import {
  allButSystemWrites,
  bucket,
  bucketDocs,
  cluster,
  define,
  noBucketData,
  none,
  type RoleDefinition,
  scope,
  seesBucket,
  seesPools,
} from './definition.ts';

export const administration: readonly RoleDefinition[] = [
  define('cluster', true)(
    'admin',
    ['Full Admin', 'Manages everything, security and all data included.'],
    [['', 'all']],
  ),
  define('cluster', true)(
    'ro_admin',
    ['Read-Only Admin', 'Sees all of the cluster, but no data.'],
    [
      ...none('bucket[.].data', 'bucket[.].fts', 'bucket[.].analytics'),
      ['admin.security', 'read'],
      ['admin.stats_export', 'read'],
      ...none('admin', 'eventing', 'analytics', 'backup'),
      ['', 'read list'],
    ],
  ),
  cluster(
    'security_admin_local',
    [
      'Local User Security Admin',
      'Manages local users and security settings, but grants no administrator roles.',
    ],
    [
      ...none('admin.security.admin', 'admin.security.external'),
      ['admin.security', 'all'],
      ...none('admin.logs', 'admin.settings.metrics'),
      ...noBucketData,
      ['bucket[.]', 'read'],
      ...none('analytics', 'backup', 'eventing', 'xdcr', 'settings.fts', 'settings.metrics'),
      ['', 'read list'],
    ],
  ),
  cluster(
    'security_admin_external',
    [
      'External User Security Admin',
      'Manages external users and security settings, but grants no administrator roles.',
    ],
    [
      ...none('admin.security.admin', 'admin.security.local'),
      ['admin.security', 'all'],
      ...none('admin.logs', 'admin.settings'),
      ...noBucketData,
      ['bucket[.]', 'read'],
      ...none('analytics', 'backup', 'eventing', 'xdcr', 'settings.fts'),
      ['', 'read list'],
    ],
  ),
  cluster(
    'cluster_admin',
    ['Cluster Admin', 'Manages everything but security; sees no data.'],
    [
      ...none('admin.internal', 'admin.security'),
      ['admin.diag', 'read'],
      ...none('admin.settings.metrics'),
      ...noBucketData,
      ...none('n1ql.curl', 'eventing', 'analytics', 'backup'),
      ['', 'all'],
    ],
  ),
  cluster(
    'eventing_admin',
    ['Eventing Full Admin', 'Manages eventing functions, and buckets for them.'],
    [
      ...none('admin', 'xdcr', 'bucket[.].xdcr'),
      ['bucket[.]', 'all'],
      ['n1ql', 'all'],
      ['eventing', 'all'],
      ['analytics', 'all'],
      ['buckets', 'all'],
      ...none('settings.metrics'),
      ['', 'read'],
    ],
  ),
  cluster(
    'backup_admin',
    ['Backup Full Admin', 'Does everything that backup and restore need.'],
    [...none('admin', 'settings.metrics'), ['', 'all']],
  ),
];

export const buckets: readonly RoleDefinition[] = [
  bucket(
    'bucket_admin',
    ['Bucket Admin', 'Manages the bucket, starts and stops its replications; sees no data.'],
    [
      ['bucket[b].xdcr', 'read execute'],
      ...none('bucket[b].data', 'bucket[b].views', 'bucket[b].n1ql', 'bucket[b].fts', 'bucket[.].analytics'),
      ['bucket[b]', 'all'],
      ['bucket[.].settings', 'read'],
      ...none('bucket[.]', 'xdcr', 'admin', 'eventing', 'analytics', 'backup', 'settings.metrics'),
      ['', 'read'],
    ],
  ),
  scope(
    'scope_admin',
    ['Manage Scopes', 'Creates and drops the collections of a scope.'],
    [['collection[b:s:.].collections', 'all']],
  ),
  define('bucket', true)(
    'bucket_full_access',
    ['Application Access', 'Reads and writes the data of the bucket.'],
    [
      [bucketDocs, allButSystemWrites],
      ['bucket[b].data', 'all'],
      ['bucket[b].views', 'all'],
      ['bucket[b].n1ql.index', 'all'],
      ['bucket[b].n1ql', 'execute'],
      ['bucket[b]', 'read flush'],
      ...seesBucket,
    ],
  ),
  bucket(
    'views_admin',
    ['Views Admin', 'Manages the views of the bucket, and reads its data.'],
    [
      ['bucket[b].views', 'all'],
      [bucketDocs, 'read sread'],
      ['bucket[b].data', 'read'],
      ['bucket[b].stats', 'read'],
      ['bucket[.].settings', 'read'],
      ...none('bucket[.]'),
      ['bucket[b].n1ql', 'execute'],
      ...none('xdcr', 'admin', 'eventing', 'analytics', 'backup', 'settings.metrics'),
      ['', 'read'],
    ],
  ),
  bucket(
    'views_reader',
    ['Views Reader', 'Queries the views of the bucket.'],
    [['bucket[b].views', 'read'], [bucketDocs, 'read sread'], ...seesPools],
  ),
  cluster(
    'replication_admin',
    ['XDCR Admin', 'Manages remote clusters and replications; reads data.'],
    [
      ['bucket[.].xdcr', 'all'],
      ['bucket[.].data.docs', 'read sread'],
      ['bucket[.].data', 'read'],
      ['bucket[.].settings', 'read'],
      ['bucket[.].stats', 'read'],
      ['bucket[.].collections', 'read'],
      ...none('bucket[.]'),
      ['xdcr.developer', 'read'],
      ['xdcr', 'all'],
      ...none('admin', 'eventing', 'analytics', 'backup', 'settings.metrics'),
      ['', 'read'],
    ],
  ),
];
