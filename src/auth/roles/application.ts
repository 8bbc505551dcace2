// Roles of applications: data, search, query, replication and analytics, mobile, monitoring and eventing.
import {
  allButSystemWrites,
  bucket,
  bucketDocs,
  cluster,
  collection,
  docs,
  none,
  queryAndSearch,
  type RoleDefinition,
  scope,
  seesBucket,
  seesConsole,
  seesPools,
} from './definition.ts';

export const data: readonly RoleDefinition[] = [
  collection(
    'data_reader',
    ['Data Reader', 'Reads documents.'],
    [[docs, 'read range_scan sread'], ...seesBucket],
  ),
  collection(
    'data_writer',
    ['Data Writer', 'Writes and deletes documents, without reading them.'],
    [[docs, 'insert upsert delete'], ...seesBucket],
  ),
  collection(
    'data_dcp_reader',
    ['Data DCP Reader', 'Follows the stream of changes.'],
    [
      [docs, 'read sread'],
      ['collection[b:s:c].data.dcpstream', 'read'],
      ['collection[b:s:c].data.sxattr', 'read'],
      ['collection[b:s:c].collections', 'read'],
      ['bucket[b].data.dcp', 'read'],
      [bucketDocs, 'sread'],
      ['bucket[b].settings', 'read'],
      ['admin.memcached.idle', 'write'],
      ...seesPools,
    ],
  ),
  bucket(
    'data_backup',
    ['Data Backup & Restore', 'Backs up and restores the bucket.'],
    [
      ['collection[b:.:.].collections', 'all'],
      ['bucket[b].data', 'all'],
      ['bucket[b].views', 'read write'],
      ['bucket[b].fts', 'read write manage'],
      ['bucket[b].stats', 'read'],
      ['bucket[b].settings', 'read'],
      ['bucket[b].n1ql.index', 'create list build'],
      ['bucket[b].n1ql.meta', 'backup'],
      ['bucket[b].analytics', 'manage select'],
      ['analytics', 'select backup'],
      ...seesPools,
    ],
  ),
  collection(
    'data_monitoring',
    ['Data Monitor', 'Reads statistics, but no data.'],
    [
      ['collection[b:s:c].stats', 'read'],
      ['collection[b:s:c].collections', 'read'],
      ['bucket[b].settings', 'read'],
      ['tasks', 'read'],
      ...seesPools,
    ],
  ),
];

export const search: readonly RoleDefinition[] = [
  bucket(
    'fts_admin',
    ['Search Admin', 'Manages the search indexes of the bucket, and reads its data.'],
    [
      ['bucket[b].fts', 'read write manage'],
      ['bucket[b].collections', 'read'],
      [bucketDocs, 'read sread'],
      ['settings.fts', 'read write manage'],
      ...queryAndSearch,
    ],
  ),
  collection(
    'fts_searcher',
    ['Search Reader', 'Queries search indexes.'],
    [['collection[b:s:c].fts', 'read'], ['settings.fts', 'read'], ...queryAndSearch],
  ),
];

const scopeUdf = (external: boolean) => `collection[b:s:.].n1ql.udf${external ? '_external' : ''}`;

export const query: readonly RoleDefinition[] = [
  collection(
    'query_select',
    ['Query Select', 'Runs SELECT, and reads documents.'],
    [['collection[b:s:c].n1ql.select', 'execute'], [docs, 'read sread'], ...queryAndSearch],
  ),
  collection(
    'query_update',
    ['Query Update', 'Runs UPDATE, without reading documents.'],
    [['collection[b:s:c].n1ql.update', 'execute'], [docs, 'upsert range_scan'], ...queryAndSearch],
  ),
  collection(
    'query_insert',
    ['Query Insert', 'Runs INSERT, without reading documents.'],
    [['collection[b:s:c].n1ql.insert', 'execute'], [docs, 'insert'], ...queryAndSearch],
  ),
  collection(
    'query_delete',
    ['Query Delete', 'Runs DELETE, without reading documents.'],
    [['collection[b:s:c].n1ql.delete', 'execute'], [docs, 'delete range_scan'], ...queryAndSearch],
  ),
  collection(
    'query_manage_index',
    ['Query Manage Index', 'Manages indexes and reads statistics, but no data.'],
    [
      ['collection[b:s:c].n1ql.index', 'all'],
      ['collection[b:s:c].collections', 'read'],
      ['bucket[b].settings', 'read'],
      ['bucket[b].stats', 'read'],
      ['settings.indexes', 'read'],
      ...seesConsole,
    ],
  ),
  cluster(
    'query_system_catalog',
    ['Query System Catalog', 'Queries the system catalog, but no data.'],
    [
      ['bucket[.].n1ql.index', 'list'],
      ['bucket[.].settings', 'read'],
      ['n1ql.meta', 'read'],
      ['settings.indexes', 'read'],
      ...seesConsole,
    ],
  ),
  cluster(
    'query_external_access',
    ['Query CURL Access', 'Runs CURL in queries, but reads no data.'],
    [['n1ql.curl', 'execute'], ['bucket[.].settings', 'read'], ...seesConsole],
  ),
  cluster(
    'query_manage_global_functions',
    ['Manage Global Functions', 'Manages global query functions.'],
    [['n1ql.udf', 'manage'], ...seesConsole],
  ),
  cluster(
    'query_execute_global_functions',
    ['Execute Global Functions', 'Runs global query functions.'],
    [['n1ql.udf', 'execute'], ...seesConsole],
  ),
  scope(
    'query_manage_functions',
    ['Manage Scope Functions', 'Manages the query functions of a scope.'],
    [[scopeUdf(false), 'manage'], ['collection[b:s:.].collections', 'read'], ...seesConsole],
  ),
  scope(
    'query_execute_functions',
    ['Execute Scope Functions', 'Runs the query functions of a scope.'],
    [[scopeUdf(false), 'execute'], ...seesConsole],
  ),
  cluster(
    'query_manage_global_external_functions',
    ['Manage Global External Functions', 'Manages global functions in other languages.'],
    [['n1ql.udf_external', 'manage'], ...seesConsole],
  ),
  cluster(
    'query_execute_global_external_functions',
    ['Execute Global External Functions', 'Runs global functions in other languages.'],
    [['n1ql.udf_external', 'execute'], ...seesConsole],
  ),
  scope(
    'query_manage_external_functions',
    ['Manage Scope External Functions', 'Manages functions of a scope in other languages.'],
    [[scopeUdf(true), 'manage'], ['collection[b:s:.].collections', 'read'], ...seesConsole],
  ),
  scope(
    'query_execute_external_functions',
    ['Execute Scope External Functions', 'Runs functions of a scope in other languages.'],
    [[scopeUdf(true), 'execute'], ...seesConsole],
  ),
];

export const replicationAndAnalytics: readonly RoleDefinition[] = [
  bucket(
    'replication_target',
    ['XDCR Inbound', 'Receives replications into the bucket.'],
    [
      ['bucket[b].settings', 'read'],
      [bucketDocs, 'read sread upsert'],
      ['bucket[b].data.meta', 'write'],
      ['bucket[b].data.sxattr', 'read write'],
      ['bucket[b].stats', 'read'],
      ['bucket[b].collections', 'read'],
      ...seesPools,
    ],
  ),
  bucket(
    'analytics_manager',
    ['Analytics Manager', 'Manages analytics of the bucket, and queries them.'],
    [['bucket[b].analytics', 'manage select'], ...seesConsole],
  ),
  cluster(
    'analytics_reader',
    ['Analytics Reader', 'Queries all of analytics.'],
    [['analytics', 'select'], ['bucket[.].analytics', 'select'], ...seesConsole],
  ),
  collection(
    'analytics_select',
    ['Analytics Select', 'Queries analytics.'],
    [['collection[b:s:c].analytics', 'select'], ...seesConsole],
  ),
  cluster(
    'analytics_admin',
    ['Analytics Admin', 'Manages all of analytics, but reads no data.'],
    [['analytics', 'manage'], ['bucket[.].analytics', 'manage'], ...seesConsole],
  ),
];

const gateway = 'collection[b:s:c].sgw';

export const mobile: readonly RoleDefinition[] = [
  bucket(
    'mobile_sync_gateway',
    ['Sync Gateway', 'Reads and writes the bucket as the gateway needs.'],
    [
      [bucketDocs, allButSystemWrites],
      ['bucket[b].data', 'all'],
      ['bucket[b].views', 'all'],
      ['bucket[b].n1ql.index', 'all'],
      ['bucket[b].n1ql', 'execute'],
      ['bucket[b]', 'read flush'],
      ['bucket[b].settings', 'read'],
      ['admin.memcached.idle', 'write'],
      ['settings.autocompaction', 'read'],
      ...seesPools,
    ],
  ),
  collection(
    'sync_gateway_configurator',
    ['Sync Gateway Architect', 'Manages gateway databases and users.'],
    [
      ...none(
        'collection[.:.:.].sgw.appdata',
        'collection[.:.:.].sgw.principal_appdata',
        'collection[.:.:.].sgw.replications',
      ),
      [gateway, 'all'],
      ['admin.stats_export', 'read'],
    ],
  ),
  collection(
    'sync_gateway_app',
    ['Sync Gateway Application', 'Reads and writes through the gateway.'],
    [
      [`${gateway}.auth`, 'configure'],
      [`${gateway}.principal`, 'read write'],
      [`${gateway}.appdata`, 'read write'],
      [`${gateway}.principal_appdata`, 'read'],
    ],
  ),
  collection(
    'sync_gateway_app_ro',
    ['Sync Gateway Application Read Only', 'Reads through the gateway.'],
    [
      [`${gateway}.appdata`, 'read'],
      [`${gateway}.principal`, 'read'],
      [`${gateway}.principal_appdata`, 'read'],
    ],
  ),
  collection(
    'sync_gateway_replicator',
    ['Sync Gateway Replicator', 'Manages replications between gateways.'],
    [[`${gateway}.replications`, 'all']],
  ),
  cluster(
    'sync_gateway_dev_ops',
    ['Sync Gateway Dev Ops', 'Manages gateway nodes.'],
    [
      ['sgw.dev_ops', 'all'],
      ['admin.stats_export', 'read'],
    ],
  ),
];

export const monitoringAndEventing: readonly RoleDefinition[] = [
  cluster(
    'external_stats_reader',
    ['External Stats Reader', 'Reads all statistics for monitoring.'],
    [['admin.stats_export', 'read']],
  ),
  scope(
    'eventing_manage_functions',
    ['Manage Scope Functions', 'Manages the eventing functions of a scope.'],
    [
      ['collection[b:s:.].eventing.function', 'manage'],
      ['collection[b:s:.].collections', 'read'],
      ['bucket[b].stats', 'read'],
      ...seesConsole,
    ],
  ),
];
