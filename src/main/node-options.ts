// The options of a node, common to `divan node` and `divan up`.
import { logLevels } from '#ports/log.ts';
import { isBucketName } from '#replog/nats/kv-names.ts';
import { isNatsText, parseServers } from '#replog/nats/nats-servers.ts';
import { parseBucketOption } from './init-plan.ts';
import { choice, kinds, type OptionKind, type OptionValues, UsageError } from './options.ts';

const knownServices = ['kv', 'index', 'n1ql', 'backup'];

/** The services of a node: each once. */
const services: OptionKind<string> = {
  placeholder: knownServices.join(','),
  parse(text) {
    const names = text.split(',').map((name) => name.trim());
    const unknown = names.find((name) => !knownServices.includes(name));
    if (unknown !== undefined)
      throw new UsageError(
        `this version does not have the service "${unknown}"; it has ${knownServices.join(', ')}`,
      );
    return [...new Set(names)].join(',');
  },
};

/** The engine whose servers the nodes of the cluster run themselves. */
export const ownServers = 'nats';

const engine: OptionKind<string> = {
  placeholder: 'embedded|nats|nats://HOST:PORT,...',
  parse(text) {
    if (text === 'embedded' || text === ownServers) return text;
    if (!isNatsText(text))
      throw new UsageError(
        `this version does not have the engine "${text}"; it has embedded, nats and nats://HOST:PORT,...`,
      );
    try {
      parseServers(text);
      return text;
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
  },
};

const natsBucketName: OptionKind<string> = {
  placeholder: 'NAME',
  parse(text) {
    if (isBucketName(text)) return text;
    throw new UsageError(`"${text}" is not a name of 1 to 64 letters, digits, - and _`);
  },
};

export const nodeOptions = {
  'data-dir': { kind: kinds.path, default: './divan-data', doc: 'folder of all files of the node' },
  host: { kind: kinds.host, default: '127.0.0.1', doc: 'address to listen on' },
  'rest-port': { kind: kinds.port, default: 8091, doc: 'administration REST API' },
  'rest-tls-port': { kind: kinds.port, default: 18091, doc: 'administration REST API over TLS' },
  'kv-port': { kind: kinds.port, default: 11210, doc: 'data service' },
  'kv-tls-port': { kind: kinds.port, default: 11207, doc: 'data service over TLS' },
  'capi-port': { kind: kinds.port, default: 8092, doc: 'view port, which answers that views are not served' },
  'capi-tls-port': { kind: kinds.port, default: 18092, doc: 'view port over TLS' },
  'dist-port': {
    kind: kinds.port,
    default: 21100,
    doc: 'port between nodes without TLS: it only sends a line with the name of this server',
  },
  'dist-tls-port': {
    kind: kinds.port,
    default: 21150,
    doc: 'messages and configuration between nodes, over TLS',
  },
  'replication-port': {
    kind: kinds.port,
    default: 21200,
    doc: 'documents between nodes, over TLS; a free port where the default is in use',
  },
  'query-port': { kind: kinds.port, default: 8093, doc: 'query service' },
  'query-tls-port': { kind: kinds.port, default: 18093, doc: 'query service over TLS' },
  'index-port': { kind: kinds.port, default: 9102, doc: 'index service' },
  'index-tls-port': { kind: kinds.port, default: 19102, doc: 'index service over TLS' },
  'backup-port': { kind: kinds.port, default: 8097, doc: 'backup service' },
  'backup-tls-port': { kind: kinds.port, default: 18097, doc: 'backup service over TLS' },
  'backup-root': {
    kind: kinds.path,
    repeat: true,
    doc: 'folder below which the backup service may keep archives; default: `backups` in the data folder',
  },
  'query-sequential-scans': {
    kind: choice('on', 'off'),
    default: 'on',
    doc: 'whether statements read whole collections where no index serves them',
  },
  'operator-address': {
    kind: kinds.host,
    doc: 'address that is always admitted, and from which this node connects to other nodes; without a client allowlist no other is admitted',
  },
  username: { kind: kinds.text, doc: 'administrator to provision with on first start (with --password)' },
  password: { kind: kinds.text, doc: 'password of that administrator; better given by environment' },
  services: { kind: services, default: 'kv,index,n1ql', doc: 'services to run: kv, index, n1ql, backup' },
  join: {
    kind: kinds.text,
    doc: 'address of a node of a cluster to join on first start, like http://host:8091 (with an administrator of that cluster as --username and --password)',
  },
  'node-name': {
    kind: kinds.host,
    doc: 'name or address under which the other nodes of a cluster and clients reach this node, set on first start (with --username and --password); default: the address under which they connect to it',
  },
  'memory-quota': {
    kind: kinds.megabytes,
    doc: 'memory of the data service, set on first start (default: by the memory of the machine)',
  },
  engine: {
    kind: engine,
    default: 'embedded',
    doc: 'where the configuration is: in the data folder, with nats on NATS servers that three nodes of the cluster run themselves, or on other NATS servers (tls:// requires TLS; user:password@ before the first)',
  },
  'nats-server': {
    kind: kinds.path,
    doc: 'the program nats-server, 2.12 or later, for --engine nats; default: the one in PATH',
  },
  'nats-port': {
    kind: kinds.port,
    default: 4222,
    doc: 'NATS server of --engine nats, over TLS; a free port where it is in use',
  },
  'nats-route-port': {
    kind: kinds.port,
    default: 6222,
    doc: 'NATS servers of --engine nats among each other, over TLS; a free port where it is in use',
  },
  'nats-bucket': {
    kind: natsBucketName,
    default: 'divan',
    doc: 'key-value bucket of the configuration on NATS servers; created on first start',
  },
  'nats-credentials': { kind: kinds.path, doc: 'credentials file of a NATS user' },
  'nats-ca': {
    kind: kinds.path,
    doc: 'PEM certificates of the authorities that signed the certificates of the NATS servers',
  },
  'nats-cert': {
    kind: kinds.path,
    doc: 'PEM certificate that this node shows to NATS servers (with --nats-key)',
  },
  'nats-key': { kind: kinds.path, doc: 'PEM key of that certificate' },
  bucket: {
    kind: { placeholder: 'NAME[:TYPE[:QUOTAMB]]', parse: parseBucketOption },
    repeat: true,
    doc: 'bucket to create on first start',
  },
  init: {
    kind: kinds.path,
    doc: 'JSON file of what to create on first start: users, buckets with scopes, collections and documents, the content of a backup, statements to run, and replications',
  },
  edition: {
    kind: choice('enterprise', 'community'),
    default: 'enterprise',
    doc: 'edition whose rules apply',
  },
  'wire-names': {
    kind: choice('branded', 'neutral'),
    default: 'branded',
    doc: 'type that a bucket created over REST without a type reports: membase (branded) or native',
  },
  'ready-file': { kind: kinds.path, doc: 'JSON file to write when ready (mode 0600)' },
  'log-level': {
    kind: choice(...logLevels),
    default: 'warn',
    doc: 'log to standard error from this level up',
  },
} as const;

export type NodeOptions = OptionValues<typeof nodeOptions>;
export type PortOption = Extract<keyof NodeOptions, `${string}-port`>;

/** The names of the options that set a port. */
export const portNames = Object.keys(nodeOptions).filter((name) => name.endsWith('-port'));
