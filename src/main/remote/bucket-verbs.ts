// `divan bucket`: buckets of a running node, over its REST API.
import type { RestFields } from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError } from '../exit-status.ts';
import { choice, kinds } from '../options.ts';
import { columns, ProgressLine, sizeText } from '../terminal.ts';
import { integerOption, jsonFlag } from './common-options.ts';
import { givenFields, RemoteNode, urlPath } from './remote-node.ts';
import { verb } from './verb.ts';

const connection = nodeConnection('user with the role bucket_admin, or more');
const plain = { ...connection, json: jsonFlag } as const;
const readyTimeoutMs = 60_000;
const pollEveryMs = 50;
/** The longest time for which the command waits for a compaction, which continues afterwards. */
const compactionMs = 24 * 3_600_000;

const changeable = {
  quota: { kind: kinds.megabytes, doc: 'memory on each node' },
  replicas: { kind: integerOption(0, 3), doc: 'copies of each document on other nodes' },
  flush: { kind: choice('on', 'off'), doc: 'whether all documents can be removed at once' },
  'max-ttl': {
    kind: integerOption(0, 2_147_483_647, 'SECONDS'),
    doc: 'the longest expiry of a document; 0: any',
  },
  compression: { kind: choice('off', 'passive', 'active'), doc: 'whether values are compressed' },
  'durability-min': {
    kind: choice('none', 'majority', 'majorityAndPersistActive', 'persistToMajority'),
    doc: 'the durability that every write gets at least',
  },
} as const;

const atCreation = {
  type: {
    kind: choice('couchbase', 'ephemeral', 'memcached'),
    default: 'couchbase',
    doc: 'type of the bucket',
  },
  eviction: {
    kind: choice('valueOnly', 'fullEviction', 'noEviction', 'nruEviction'),
    doc: 'what leaves the memory when it is full',
  },
  'conflict-resolution': {
    kind: choice('seqno', 'lww'),
    doc: 'which version wins in a replication between clusters',
  },
} as const;

interface ChangeableValues {
  readonly quota: number | undefined;
  readonly replicas: number | undefined;
  readonly flush: 'on' | 'off' | undefined;
  readonly 'max-ttl': number | undefined;
  readonly compression: string | undefined;
  readonly 'durability-min': string | undefined;
}

interface RawBucket {
  readonly name: string;
  readonly bucketType: string;
  readonly quota: { readonly rawRAM: number };
  readonly replicaNumber?: number;
  readonly basicStats: { readonly itemCount?: number; readonly memUsed?: number; readonly diskUsed?: number };
  readonly nodes: readonly { readonly status: string }[];
}

interface Task {
  readonly type: string;
  readonly bucket?: string;
  readonly progress?: number;
}

export const bucketVerbs = [
  verb('list', 'the buckets with their figures', plain, async (options) => {
    const buckets = (await new RemoteNode(options).get('/pools/default/buckets')) as RawBucket[];
    const rows = buckets.map(summaryOf);
    const head = ['bucket', 'type', 'documents', 'quota', 'memory', 'disk', 'replicas'];
    const cells = rows.map((row) => [
      row.name,
      row.type,
      String(row.documents),
      ...[row.quotaBytes, row.memoryBytes, row.diskBytes].map(sizeText),
      String(row.replicas),
    ]);
    return { value: rows, text: rows.length === 0 ? 'no buckets' : columns([head, ...cells]) };
  }),
  verb(
    'create NAME',
    'creates a bucket and waits until it is usable',
    { ...plain, ...changeable, ...atCreation },
    async (options, [name = '']) => {
      const node = new RemoteNode(options);
      const { type, eviction, 'conflict-resolution': resolution, quota = 100 } = options;
      // The node refuses replicas of a type that has none.
      const { replicas = type === 'memcached' ? undefined : 0 } = options;
      const bucket = await createReadyBucket(node, name, {
        bucketType: type,
        ...givenFields({ evictionPolicy: eviction, conflictResolutionType: resolution }),
        ...fieldsOf({ ...options, quota, replicas }),
      });
      return done(summaryOf(bucket), `bucket "${name}" is ready`);
    },
  ),
  verb(
    'edit NAME',
    'changes settings of a bucket; the others stay',
    { ...plain, ...changeable },
    async (options, [name = '']) => {
      const node = new RemoteNode(options);
      const fields = fieldsOf(options);
      if (Object.keys(fields).length === 0)
        throw new CommandError('nothing to change is given: see divan bucket edit --help');
      await node.request('POST', urlPath`/pools/default/buckets/${name}`, fields);
      return done(summaryOf(await whenReady(node, name)), `bucket "${name}" is changed`);
    },
  ),
  verb(
    'flush NAME',
    'removes all documents of a bucket whose flush is on',
    plain,
    async (options, [name = '']) => {
      await new RemoteNode(options).request(
        'POST',
        urlPath`/pools/default/buckets/${name}/controller/doFlush`,
      );
      return done({ name }, `bucket "${name}" is empty`);
    },
  ),
  verb('delete NAME', 'deletes a bucket with its documents', plain, async (options, [name = '']) => {
    await new RemoteNode(options).request('DELETE', urlPath`/pools/default/buckets/${name}`);
    return done({ name }, `bucket "${name}" is deleted`);
  }),
  verb(
    'compact NAME',
    'releases disk space of replaced documents, and waits for the end',
    plain,
    async (options, [name = '']) => {
      const node = new RemoteNode(options);
      await node.request('POST', urlPath`/pools/default/buckets/${name}/controller/compactBucket`);
      await whenCompacted(node, name);
      const { diskBytes } = summaryOf(await bucketOf(node, name));
      return done({ name, diskBytes }, `bucket "${name}" is compacted: ${sizeText(diskBytes)} on disk`);
    },
  ),
];

const done = (value: unknown, text: string) => ({ value, text });

function fieldsOf(values: ChangeableValues): Record<string, string | number | boolean> {
  const { quota, replicas, flush, 'max-ttl': maxTTL, compression, 'durability-min': durability } = values;
  return givenFields({
    ramQuotaMB: quota,
    replicaNumber: replicas,
    flushEnabled: flush === undefined ? undefined : Number(flush === 'on'),
    maxTTL,
    compressionMode: compression,
    durabilityMinLevel: durability,
  });
}

const summaryOf = ({ name, bucketType, quota, replicaNumber = 0, basicStats }: RawBucket) => ({
  name,
  type: bucketType === 'membase' ? 'couchbase' : bucketType,
  documents: basicStats.itemCount ?? 0,
  quotaBytes: quota.rawRAM,
  memoryBytes: basicStats.memUsed ?? 0,
  diskBytes: basicStats.diskUsed ?? 0,
  replicas: replicaNumber,
});

/** Resolves when every node serves the bucket. */
async function createReadyBucket(node: RemoteNode, name: string, fields: RestFields): Promise<RawBucket> {
  await node.request('POST', '/pools/default/buckets', { name, ...fields });
  return whenReady(node, name);
}

const bucketOf = async (node: RemoteNode, name: string): Promise<RawBucket> =>
  (await node.get(urlPath`/pools/default/buckets/${name}`)) as RawBucket;

async function whenReady(node: RemoteNode, name: string): Promise<RawBucket> {
  const deadlineMs = realClock.monotonicMs() + readyTimeoutMs;
  for (;;) {
    const bucket = await bucketOf(node, name);
    if (bucket.nodes.every(({ status }) => status === 'healthy')) return bucket;
    if (realClock.monotonicMs() >= deadlineMs)
      throw new CommandError(
        `bucket "${name}" exists, but is not ready after ${readyTimeoutMs / 1_000} s; see divan logs`,
      );
    await realClock.sleep(pollEveryMs);
  }
}

async function whenCompacted(node: RemoteNode, name: string): Promise<void> {
  const line = new ProgressLine();
  const deadlineMs = realClock.monotonicMs() + compactionMs;
  try {
    while (realClock.monotonicMs() < deadlineMs) {
      const tasks = (await node.get('/pools/default/tasks')) as Task[];
      const task = tasks.find(({ type, bucket }) => type === 'bucket_compaction' && bucket === name);
      if (task === undefined) return;
      line.show(`${name}: ${task.progress ?? 0} % compacted`);
      await realClock.sleep(pollEveryMs);
    }
  } finally {
    line.end();
  }
}
