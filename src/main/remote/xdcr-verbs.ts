// `divan xdcr`: references to other clusters and replications to them, over the REST API of a running node.
import { readFileSync } from 'node:fs';
import type { RestFields } from '#client/rest.adapter.ts';
import { nodeConnection, passwordOf } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { choice, kinds, UsageError } from '../options.ts';
import { columns } from '../terminal.ts';
import { jsonFlag } from './common-options.ts';
import { givenFields, RemoteNode, urlPath } from './remote-node.ts';
import { verb } from './verb.ts';

const plain = { ...nodeConnection('user with the role replication_admin, or more'), json: jsonFlag } as const;
const access = {
  'remote-username': { kind: kinds.text, doc: 'user of the other cluster' },
  'remote-password': { kind: kinds.text, doc: 'password of that user; better given by environment or file' },
  'remote-password-file': {
    kind: kinds.path,
    doc: 'file whose first line is the password of --remote-username; -: standard input',
  },
  secure: {
    kind: choice('none', 'half', 'full'),
    default: 'none',
    doc: 'half: only calls with the password use TLS; full: all connections do',
  },
  'remote-ca': { kind: kinds.path, doc: 'PEM file of the authority of the other cluster' },
  'client-certificate': {
    kind: kinds.path,
    doc: 'PEM file of a client certificate, in place of user and password',
  },
  'client-key': { kind: kinds.path, doc: 'PEM file of the key of that certificate' },
  external: {
    kind: kinds.flag,
    default: false,
    doc: 'connect to the alternate addresses of the nodes of the other cluster',
  },
} as const;
const parameters = {
  filter: { kind: kinds.text, doc: 'expression that documents must match' },
  rules: { kind: kinds.text, doc: 'mapping as JSON: {"scope.collection":"other.collection"}' },
  migrate: { kind: kinds.text, doc: 'rules of a migration as JSON: {"type = \\"x\\"":"scope.collection"}' },
  set: {
    kind: kinds.text,
    repeat: true,
    doc: 'NAME=VALUE of any parameter of the REST API, such as filterDeletion=true',
  },
} as const;

interface RawReference {
  readonly name: string;
  readonly uuid: string;
  readonly hostname: string;
  readonly secureType: string;
  readonly connectivityStatus: string;
}

interface RawTask {
  readonly type: string;
  readonly id: string;
  readonly source: string;
  readonly status: string;
  readonly changesLeft?: number;
  readonly docsWritten?: number;
  readonly errors?: readonly string[];
}

const referencesPath = '/pools/default/remoteClusters';

export const xdcrVerbs = [
  verb('list', 'the other clusters and the replications to them', plain, async (options) => {
    const node = new RemoteNode(options);
    const clusters = await referencesOf(node);
    const replications = await replicationsOf(node, clusters);
    const clusterRows = clusters.map((cluster) => [
      cluster.name,
      cluster.hostname,
      cluster.secureType,
      cluster.connectivityStatus,
    ]);
    const rows = replications.map(({ bucket, cluster, target, status, changesLeft, errors }) => [
      bucket,
      cluster,
      target,
      status,
      String(changesLeft),
      errors[0] ?? '',
    ]);
    const tables = [
      [['cluster', 'address', 'secure', 'status'], ...clusterRows],
      [['bucket', 'cluster', 'target', 'status', 'changes left', 'last error'], ...rows],
    ].filter(({ length }) => length > 1);
    const text = tables.length === 0 ? 'no other clusters' : tables.map(columns).join('\n\n');
    return { value: { clusters, replications }, text };
  }),
  verb(
    'connect NAME HOST',
    'stores a reference to another cluster, by the address of the REST API of a node',
    { ...plain, ...access },
    async (options, [name = '', hostname = '']) => {
      const { 'remote-username': username, secure: secureType, external } = options;
      const { body } = await new RemoteNode(options).request('POST', referencesPath, {
        name,
        hostname,
        secureType,
        network_type: external ? 'external' : 'default',
        ...givenFields({
          username,
          password: remotePassword(options),
          certificate: contentOf('remote-ca', options['remote-ca']),
          clientCertificate: contentOf('client-certificate', options['client-certificate']),
          clientKey: contentOf('client-key', options['client-key']),
        }),
      });
      return { value: JSON.parse(body) as unknown, text: `cluster "${name}" answers, and is stored` };
    },
  ),
  verb(
    'disconnect NAME',
    'deletes a reference that no replication uses',
    plain,
    async (options, [name = '']) => {
      await new RemoteNode(options).request('DELETE', urlPath`/pools/default/remoteClusters/${name}`);
      return { value: { name }, text: `cluster "${name}" is not connected any more` };
    },
  ),
  verb(
    'replicate BUCKET CLUSTER [TARGET]',
    'replicates a bucket to a bucket of another cluster, by default of the same name',
    { ...plain, ...parameters },
    async (options, [fromBucket = '', toCluster = '', toBucket = fromBucket]) => {
      const { body } = await new RemoteNode(options).request('POST', '/controller/createReplication', {
        fromBucket,
        toCluster,
        toBucket,
        replicationType: 'continuous',
        ...fieldsOf(options),
      });
      const text = `bucket "${fromBucket}" replicates to "${toBucket}" of cluster "${toCluster}"`;
      return { value: JSON.parse(body) as unknown, text };
    },
  ),
  verb(
    'edit BUCKET CLUSTER [TARGET]',
    'changes settings of a replication; the others stay',
    { ...plain, ...parameters },
    async (options, words) => {
      const fields = fieldsOf(options);
      if (Object.keys(fields).length === 0)
        throw new CommandError('give a setting to change: see divan xdcr edit --help');
      return await change(new RemoteNode(options), words, fields, 'is changed');
    },
  ),
  verb('pause BUCKET CLUSTER [TARGET]', 'pauses a replication', plain, async (options, words) =>
    change(new RemoteNode(options), words, { pauseRequested: true }, 'pauses'),
  ),
  verb('resume BUCKET CLUSTER [TARGET]', 'resumes a replication', plain, async (options, words) =>
    change(new RemoteNode(options), words, { pauseRequested: false }, 'resumes'),
  ),
  verb('delete BUCKET CLUSTER [TARGET]', 'deletes a replication', plain, async (options, words) => {
    const node = new RemoteNode(options);
    const id = await idOf(node, words);
    await node.request('DELETE', urlPath`/controller/cancelXDCR/${id}`);
    return { value: { id }, text: 'the replication is deleted' };
  }),
];

const referencesOf = async (node: RemoteNode): Promise<RawReference[]> =>
  (await node.get(referencesPath)) as RawReference[];

async function replicationsOf(node: RemoteNode, clusters: readonly RawReference[]) {
  const tasks = ((await node.get('/pools/default/tasks')) as RawTask[]).filter(({ type }) => type === 'xdcr');
  return tasks.map(({ id, source, status, changesLeft = 0, docsWritten = 0, errors = [] }) => {
    const [uuid, , target = ''] = id.split('/');
    const cluster = clusters.find((one) => one.uuid === uuid)?.name ?? '';
    return { id, bucket: source, cluster, target, status, changesLeft, docsWritten, errors };
  });
}

async function idOf(node: RemoteNode, words: readonly string[]): Promise<string> {
  const [bucket = '', name = '', target = bucket] = words;
  const cluster = (await referencesOf(node)).find((reference) => reference.name === name);
  if (cluster === undefined)
    throw new CommandError(`there is no cluster "${name}": see divan xdcr list`, ExitStatus.missing);
  return `${cluster.uuid}/${bucket}/${target}`;
}

async function change(node: RemoteNode, words: readonly string[], fields: RestFields, text: string) {
  const id = await idOf(node, words);
  const { body } = await node.request('POST', urlPath`/settings/replications/${id}`, fields);
  return { value: JSON.parse(body) as unknown, text: `the replication ${text}` };
}

interface GivenParameters {
  readonly filter: string | undefined;
  readonly rules: string | undefined;
  readonly migrate: string | undefined;
  readonly set: readonly string[];
}

function fieldsOf({ filter, rules, migrate, set }: GivenParameters): RestFields {
  if (rules !== undefined && migrate !== undefined)
    throw new UsageError('--rules and --migrate are given; give one of them');
  return {
    ...givenFields({ filterExpression: filter }),
    ...(rules !== undefined && { collectionsExplicitMapping: true, colMappingRules: rules }),
    ...(migrate !== undefined && { collectionsMigrationMode: true, colMappingRules: migrate }),
    ...Object.fromEntries(set.map(settingIn)),
  };
}

function settingIn(text: string): readonly [name: string, value: string] {
  const equals = text.indexOf('=');
  if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)];
  throw new UsageError(`--set: "${text}" is not of the form NAME=VALUE`);
}

interface GivenRemotePassword {
  readonly 'remote-password': string | undefined;
  readonly 'remote-password-file': string | undefined;
  readonly 'password-file': string | undefined;
}

function remotePassword(options: GivenRemotePassword): string | undefined {
  const { 'remote-password': password, 'remote-password-file': file } = options;
  if (password === undefined && file === undefined) return undefined;
  if (file === '-' && options['password-file'] === '-')
    throw new UsageError('--remote-password-file and --password-file: both name standard input');
  return passwordOf({ password, 'password-file': file }, 'remote-');
}

function contentOf(option: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--${option}: cannot read ${path}: ${(error as Error).message}`);
  }
}
