// Settings of the cluster and of its nodes. An effect such as `search` names a feature that is missing (`missingFeatures`): the parameter
// is stored, without an effect.
import { alertParameters } from './alert-parameters.ts';
import { autoCompaction } from './compaction-settings.ts';
import { dataParameters } from './data-parameters.ts';
import { failoverParameters } from './failover-parameters.ts';
import { internalParameters } from './internal-parameters.ts';
import { queryParameters } from './query-parameters.ts';
import { type SettingGroup, setting } from './setting.ts';

const initRoute = 'provisioning.init_cluster';
const encryptedPortDoc =
  'opens the encrypted port between nodes, which has no traffic while there is one node';
const byHost = 'a running node keeps the addresses that it was started on';
const unsent = 'the node never sends statistics';

const betweenNodes = [
  setting(
    'afamily',
    'that of `--host`',
    '`ipv4`, `ipv6`: a family of `--host`',
    'live',
    'addressFamily',
    byHost,
  ),
  setting(
    'afamilyOnly',
    '`false`',
    '`true`, `false`; `true` not with both families',
    'live',
    'addressFamily',
    byHost,
  ),
  setting('nodeEncryption', '`off`', '`on`, `off`', 'live', 'effective', encryptedPortDoc),
];

export const clusterSettings: readonly SettingGroup[] = [
  {
    title: 'Cluster name and memory',
    routes: ['provisioning.pool', initRoute],
    settings: [
      setting('clusterName', 'empty', 'up to 256 characters', 'live', 'effective'),
      setting(
        'memoryQuota',
        'by the machine’s memory',
        '256 (or the quotas of all buckets) up to 80 % of the memory, or all but 1024',
        'live',
        'effective',
        'MB per node of the data service',
      ),
      setting(
        'indexMemoryQuota',
        '512',
        '256 and up',
        'live',
        'effective',
        'MB per node for page caches of index files and for builds',
      ),
      setting('ftsMemoryQuota', 'by the machine’s memory', '256 and up', 'live', 'search'),
      setting('cbasMemoryQuota', 'by the machine’s memory', '1024 and up', 'live', 'analytics'),
      setting('eventingMemoryQuota', '256', '256 and up', 'live', 'eventing'),
    ],
  },
  autoCompaction,
  ...internalParameters,
  dataParameters,
  queryParameters,
  {
    title: 'Administrator',
    routes: ['provisioning.web', initRoute],
    settings: [
      setting('port', 'required', '`SAME`, or the port that the node has', 'live', 'fixed'),
      setting('username', 'required', '1–128 characters', 'live', 'effective'),
      setting('password', 'required', 'must satisfy the password policy', 'live', 'effective'),
    ],
  },
  {
    title: 'Password policy',
    routes: ['password_policy.set'],
    settings: [
      setting('minLength', '6; required', '0–100', 'live', 'effective', '0 allows empty passwords'),
      ...['enforceUppercase', 'enforceLowercase', 'enforceDigits', 'enforceSpecialChars'].map((name) =>
        setting(
          name,
          '`false`, also if omitted',
          '`true`, `false`',
          'live',
          'effective',
          'passwords set before stay valid',
        ),
      ),
    ],
  },
  {
    title: 'Services',
    routes: ['provisioning.services', initRoute],
    settings: [
      setting(
        'services',
        '`kv`',
        '`kv`, and `index`, `n1ql` and `backup` beside it, separated by commas',
        'before provisioning',
        'effective',
        'other services are refused by name',
      ),
      setting('setDefaultMemQuotas', '`false`', '`true`, `false`', 'before provisioning', 'effective'),
    ],
  },
  {
    title: 'Folders',
    routes: ['provisioning.node_paths', 'provisioning.named_node_paths'],
    settings: [
      setting(
        'path',
        'the data folder',
        'the data folder',
        'before provisioning',
        'fixed',
        'see `--data-dir`',
      ),
      setting(
        'index_path',
        'the data folder',
        'a folder that can be written, not inside the data folder',
        'before provisioning',
        'effective',
        'index files are in a folder of this node in it, to which `index` in the data folder is a link',
      ),
      setting(
        'cbas_path',
        'the data folder',
        'a folder that can be written, not inside the data folder; repeat it for several folders',
        'before provisioning',
        'analytics',
      ),
      setting(
        'eventing_path',
        'the data folder',
        'a folder that can be written, not inside the data folder',
        'before provisioning',
        'eventing',
      ),
      setting('java_home', 'empty', 'any text', 'live', 'analytics'),
    ],
  },
  {
    title: 'Name and addresses of a node',
    routes: ['provisioning.rename', 'provisioning.alternate'],
    settings: [
      setting(
        'hostname',
        'none: shown as the address that the caller used',
        'a name or address of this machine; any for alternate addresses',
        'live',
        'effective',
      ),
    ],
  },
  {
    title: 'Network between nodes',
    routes: ['provisioning.network', 'provisioning.enable_listener', 'provisioning.disable_listener'],
    settings: betweenNodes,
  },
  {
    title: 'Folders and name in one call',
    routes: ['provisioning.init_node', initRoute],
    settings: [
      setting('dataPath', 'the data folder', 'as `path`', 'before provisioning', 'fixed'),
      setting('indexPath', 'the data folder', 'as `index_path`', 'before provisioning', 'effective'),
      setting('analyticsPath', 'the data folder', 'as `cbas_path`', 'before provisioning', 'analytics'),
      setting('eventingPath', 'the data folder', 'as `eventing_path`', 'before provisioning', 'eventing'),
      setting('javaHome', 'empty', 'as `java_home`', 'live', 'analytics'),
      setting('hostname', 'none', 'as above', 'live', 'effective'),
      ...betweenNodes,
    ],
  },
  {
    title: 'Further parameters of the set-up in one call',
    routes: [initRoute],
    settings: [
      setting('sendStats', '`false`', '`true`, `false`', 'live', 'kept', unsent),
      setting('indexerStorageMode', 'absent', 'as `storageMode` of the index service', 'live', 'index'),
      setting('allowedHosts', '`*`', '`*`', 'live', 'fixed'),
    ],
  },
  {
    title: 'Ports of alternate addresses',
    routes: ['provisioning.alternate'],
    settings: ['mgmt', 'mgmtSSL', 'kv', 'kvSSL', 'capi', 'capiSSL'].map((name) =>
      setting(name, 'not advertised', '1024–65535', 'live', 'effective'),
    ),
  },
  {
    title: 'Statistics sharing',
    routes: ['provisioning.stats'],
    settings: [setting('sendStats', '`false`; required', '`true`, `false`', 'live', 'kept', unsent)],
  },
  {
    title: 'Index service',
    routes: ['provisioning.indexes'],
    settings: [
      setting(
        'storageMode',
        'empty',
        '`plasma`, `memory_optimized`, empty; community `forestdb`, empty',
        'live',
        'index',
      ),
      setting('redistributeIndexes', '`false`', '`true`, `false`', 'live', 'spreadIndexes'),
      setting(
        'numReplica',
        '0',
        '0–16',
        'live',
        'effective',
        'the number of replicas where CREATE INDEX names none: refused with fewer nodes',
      ),
      setting('enablePageBloomFilter', '`false`', '`true`, `false`', 'live', 'index'),
      setting('indexerThreads', '0', '0–1024', 'live', 'index'),
      setting('memorySnapshotInterval', '200', '1 and up', 'live', 'index'),
      setting('stableSnapshotInterval', '5000', '1 and up', 'live', 'index'),
      setting('maxRollbackPoints', '2', '1 and up', 'live', 'index'),
      setting(
        'logLevel',
        '`info`',
        '`silent`, `fatal`, `error`, `warn`, `info`, `verbose`, `timing`, `debug`, `trace`',
        'live',
        'index',
      ),
    ],
  },
  ...alertParameters,
  ...failoverParameters,
];
