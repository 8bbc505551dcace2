// Parameters of replication between clusters.
import { fixedSettings, integerRules, refusedSettings, switches } from '../xdcr/replication-settings.ts';
import { type SettingGroup, setting } from './setting.ts';

const integerNotes: Record<keyof typeof integerRules, string> = {
  checkpointInterval:
    'seconds between checkpoints: after a restart at most what follows the last one is sent again',
  workerBatchSize: 'documents that one connection to the target has in flight',
  docBatchSizeKb: 'KiB that one connection to the target has in flight',
  failureRestartInterval: 'seconds before the replication connects again after a failure',
  optimisticReplicationThreshold:
    'bytes; for larger documents the node first requests the version of the target, and sends none that would lose the conflict',
  sourceNozzlePerNode: 'connections with change streams to the source bucket',
  targetNozzlePerNode: 'connections to each node of the target',
  statsInterval: 'milliseconds between reports of figures',
  networkUsageLimit: 'MiB per second that the nodes of the source send together; 0: no limit',
  desiredLatency:
    'milliseconds; while documents wait longer for their acknowledgement, replications of a lower priority send less',
};
const switchNotes: Record<(typeof switches)[number], string> = {
  filterBypassExpiry: 'documents arrive without an expiry',
  filterDeletion: 'deletions are left out',
  filterExpiration: 'expirations are left out',
  filterDeletionsWithExpression:
    'deletions of keys that `filterExpression` matches are sent in spite of `filterDeletion`, which must be `true`; the expression reads only `META().id`',
  filterExpirationsWithExpression: 'the same for expirations and `filterExpiration`',
  filterBypassUncommittedTxn:
    'documents that a transaction has staged are left out; otherwise they arrive without what is staged',
  filterBinary: 'documents that are not JSON are left out',
};

const mappingNotes = {
  collectionsExplicitMapping: 'only what `colMappingRules` names is replicated',
  collectionsMigrationMode:
    'documents of `_default._default` are replicated to the collections of all rules whose expression they match',
};

const settings = [
  ...Object.entries(integerRules).map(([name, rule]) =>
    setting(
      name,
      `${rule.default}`,
      `${rule.min}–${rule.max}`,
      'live',
      'effective',
      integerNotes[name as keyof typeof integerRules],
    ),
  ),
  ...switches.map((name) =>
    setting(name, '`false`', '`true`, `false`', 'live', 'effective', switchNotes[name]),
  ),
  setting(
    'priority',
    '`High`',
    '`Low`, `Medium`, `High`',
    'live',
    'effective',
    'while a replication of a higher priority is later than its `desiredLatency`, a connection has a quarter (`Medium`) or a sixteenth (`Low`) of `workerBatchSize` in flight',
  ),
  setting(
    'logLevel',
    '`Info`',
    '`Fatal`, `Error`, `Warn`, `Info`, `Debug`, `Trace`',
    'live',
    'effective',
    'lowest level of lines that the replication logs; the log of the node has a level of its own, too',
  ),
  setting(
    'compressionType',
    '`Auto`',
    '`Auto`, `None`',
    'live',
    'effective',
    '`Auto`: values are compressed where that makes them smaller; `None`: they are sent as the source stores them',
  ),
  ...Object.entries(fixedSettings).map(([name, value]) =>
    setting(name, `\`${JSON.stringify(value)}\``, 'only the default', 'live', 'fixed'),
  ),
  ...(['collectionsExplicitMapping', 'collectionsMigrationMode'] as const).map((name) =>
    setting(name, '`false`', '`true`, `false`; not both `true`', 'live', 'effective', mappingNotes[name]),
  ),
  setting('collectionsMirroringMode', '`false`', 'only the default', 'live', 'fixed'),
  setting(
    'colMappingRules',
    '`{}`',
    'a JSON object of up to 32768 bytes, with up to 1000 rules (50 in migration mode)',
    'live',
    'effective',
    'the target of each scope, `scope.collection` or, in migration mode, filter expression; `null`: it is not replicated',
  ),
  setting(
    'collectionsSkipSrcValidation',
    '`false`',
    '`true`, `false`',
    'live',
    'effective',
    'sent with `colMappingRules`: with `true` their sources need not exist yet',
  ),
  setting(
    'filterExpression',
    '`""`',
    'an expression of up to 8192 characters',
    'live',
    'effective',
    'only documents that it matches are replicated; empty: all are',
  ),
  setting(
    'filterSkipRestream',
    '`false`',
    '`true`, `false`',
    'live',
    'effective',
    'sent with each change of `filterExpression`: `false` replicates from the start, `true` continues; a new replication has nothing to skip',
  ),
  ...refusedSettings.map((name) => setting(name, 'none', 'nothing: it is refused', 'live', 'fixed')),
];

export const xdcrParameters: readonly SettingGroup[] = [
  {
    title: 'References to other clusters',
    routes: ['xdcr.create_reference', 'xdcr.edit_reference'],
    settings: [
      setting('name', 'required', 'letters, digits, `.`, `-`, `_`; an IP address', 'live', 'effective'),
      setting('hostname', 'required', 'a host and the port of its REST API (8091)', 'live', 'effective'),
      setting(
        'username',
        'required without `clientCertificate`',
        'a user of the other cluster',
        'live',
        'effective',
      ),
      setting(
        'password',
        'required with `username`',
        'any',
        'live',
        'effective',
        'stored encrypted, never shown',
      ),
      setting(
        'secureType',
        '`none`',
        '`none`, `half`, `full`',
        'live',
        'effective',
        '`full`: all connections use TLS; `half`: those with the password do, and documents are sent without TLS',
      ),
      setting(
        'demandEncryption',
        '0',
        'an integer',
        'live',
        'effective',
        'anything but 0 means `encryptionType`; `secureType` has precedence',
      ),
      setting('encryptionType', '`full`', '`half`, `full`', 'live', 'effective'),
      setting(
        'certificate',
        'none; required with `full`',
        'PEM of the authority of the other cluster',
        'live',
        'effective',
        'with `half` and without a certificate, the node trusts the authority that the other cluster names when the reference is stored',
      ),
      setting(
        'clientCertificate',
        'none',
        'PEM, with `full`',
        'live',
        'effective',
        'logs in to the other cluster, instead of username and password',
      ),
      setting(
        'clientKey',
        'required with `clientCertificate`',
        'PEM without a passphrase',
        'live',
        'effective',
        'stored encrypted, never shown',
      ),
      setting(
        'network_type',
        '`default`',
        '`default`, `external`',
        'live',
        'effective',
        '`external`: documents are sent to the alternate addresses of the nodes',
      ),
      setting('stage', 'none', 'nothing', 'live', 'fixed'),
    ],
  },
  {
    title: 'Replications to other clusters',
    routes: ['xdcr.create_replication', 'xdcr.change_settings', 'xdcr.change_defaults'],
    settings: [
      setting('fromBucket', 'required', 'a bucket', 'creation only', 'effective'),
      setting('toCluster', 'required', 'the name of a reference', 'creation only', 'effective'),
      setting('toBucket', 'required', 'a bucket of that cluster', 'creation only', 'effective'),
      setting('replicationType', 'required', '`continuous`', 'creation only', 'fixed'),
      setting(
        'pauseRequested',
        '`false`',
        '`true`, `false`',
        'live',
        'effective',
        'a paused replication continues where it stopped',
      ),
      setting(
        'network_type',
        'that of the reference',
        '`default`, `external`',
        'live',
        'effective',
        '`external`: documents are sent to the alternate addresses of the nodes, where they have some',
      ),
      ...settings,
    ],
  },
];
