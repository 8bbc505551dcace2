// `divan sample travel`: a bucket of sample data with collections and indexes.
import type { StoreRequest } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import { Status } from '#wire/status.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError } from '../exit-status.ts';
import { kinds } from '../options.ts';
import { BucketData } from '../remote/bucket-data.ts';
import { createReadyBucket } from '../remote/bucket-verbs.ts';
import { ensureCollections } from '../remote/collection-verbs.ts';
import { jsonFlag, wholeNumber } from '../remote/common-options.ts';
import { RemoteNode, urlPath } from '../remote/remote-node.ts';
import { verb } from '../remote/verb.ts';
import { queryUrl } from '../shell/query-address.ts';
import { sendStatement } from '../shell/query-client.ts';
import { counted, ProgressLine } from '../terminal.ts';
import { type SampleCollection, sampleScope, travelData } from './travel-data.ts';

const batchMax = 500;

export const sampleVerbs = [
  verb(
    'travel',
    'creates a bucket with invented airlines, airports, routes and hotels in collections, and indexes for them',
    {
      ...nodeConnection('an administrator'),
      json: jsonFlag,
      bucket: { kind: kinds.text, default: 'travel', doc: 'bucket, created if it is missing' },
      quota: { kind: kinds.megabytes, default: 100, doc: 'memory of a bucket that is created' },
      seed: {
        kind: wholeNumber(0, 2 ** 32 - 1),
        default: 1,
        doc: 'the same seed creates the same documents',
      },
      indexes: { kind: kinds.flag, default: true, doc: 'create the indexes' },
    },
    async ({ bucket, quota, seed, indexes, ...options }) => {
      const line = new ProgressLine();
      const node = new RemoteNode(options);
      const collections = travelData(seed);
      try {
        if ((await node.send('GET', urlPath`/pools/default/buckets/${bucket}`)).status === 404)
          await createReadyBucket(node, bucket, {
            bucketType: 'couchbase',
            ramQuotaMB: quota,
            replicaNumber: 0,
            flushEnabled: 1,
          });
        const names = collections.map(({ name }) => name);
        await ensureCollections(node, bucket, sampleScope, names);
        const documents = await writeAll(node, bucket, collections, line);
        const indexCount = indexes ? await createIndexes(node, bucket, collections, line) : 0;
        const text = `bucket "${bucket}", scope "${sampleScope}": ${counted(documents, 'document')} in ${names.join(', ')}, ${indexCount} indexes`;
        return {
          value: { bucket, scope: sampleScope, collections: names, documents, indexes: indexCount },
          text,
        };
      } finally {
        line.end();
      }
    },
  ),
];

async function writeAll(
  node: RemoteNode,
  bucket: string,
  collections: readonly SampleCollection[],
  line: ProgressLine,
): Promise<number> {
  using data = await BucketData.open(node, bucket);
  let written = 0;
  for (const { name, documents } of collections) {
    const collectionId = await data.collectionId(sampleScope, name);
    const requests = [...documents].map(
      ({ key, value }): StoreRequest => ({
        kind: 'set',
        key,
        value: Buffer.from(JSON.stringify(value)),
        cas: 0n,
        expiry: 0,
      }),
    );
    for (let first = 0; first < requests.length; first += batchMax) {
      const replies = await data.store(collectionId, requests.slice(first, first + batchMax));
      const refused = replies.find(({ status }) => status !== Status.success);
      if (refused !== undefined)
        throw new CommandError(`collection "${name}" refused a document: ${statusName(refused.status)}`);
      written += replies.length;
      line.show(`${name}: ${written} documents`);
    }
  }
  return written;
}

async function createIndexes(
  node: RemoteNode,
  bucket: string,
  collections: readonly SampleCollection[],
  line: ProgressLine,
): Promise<number> {
  const url = await queryUrl(node);
  if (url === null) {
    process.stderr.write('divan: no node runs the query service; indexes are left out\n');
    return 0;
  }
  let count = 0;
  for (const { name, indexes } of collections)
    for (const [index, definition] of Object.entries(indexes)) {
      line.show(`index ${index}`);
      const kind = definition === '' ? 'PRIMARY INDEX' : 'INDEX';
      const statement = `CREATE ${kind} IF NOT EXISTS \`${index}\` ON \`${bucket}\`.\`${sampleScope}\`.\`${name}\`${definition}`;
      const { errors = [] } = await sendStatement(
        { url, ...node.account, authority: node.address.authority },
        statement,
      );
      if (errors[0] !== undefined)
        throw new CommandError(`index ${index}: ${errors[0].code} ${errors[0].msg}`);
      count++;
    }
  return count;
}
