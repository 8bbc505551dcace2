// The documents of the query benchmark: 0.9 kB each, in a node's bucket `b`.

import { BucketClient, type StoreRequest } from '#client/bucket-client.ts';
import { ChangeConnection } from '#client/change-connection.ts';
import { vbucketCount } from '#client/document-key.ts';
import { dataAddress } from '../../test/support/addresses.ts';
import { administrator, type NodeProcess } from '../../test/support/node-process.ts';

const batch = 2_000;
const defaultCollection = 0;

/** The number of a hotel: two primes spread the numbers of successive hotels over the range, without duplicates up to its size. */
export const hotelNumber = (at: number, shift = 0): number => (at * 7_919 + shift) % 1_000_003;

export function hotel(at: number) {
  const n = hotelNumber(at);
  const body = {
    type: 'hotel',
    kind: `kind ${n % 20}`,
    name: `Hotel ${at}`,
    n,
    city: `City ${n % 5_000}`,
    description: 'x'.repeat(640),
    tags: [n % 17, n % 31, n % 1_000],
    free: at % 2 === 0,
    address: { street: `Street ${at}`, zip: String(at) },
  };
  return { key: `hotel_${at}`, body };
}

export const indexStatements = (keyspace: string): string[] => [
  `CREATE INDEX by_n ON ${keyspace}(n)`,
  `CREATE INDEX by_city ON ${keyspace}(city, n)`,
];

export async function writeHotels(node: NodeProcess, count: number): Promise<void> {
  const client = await BucketClient.open({ ...accessOf(node), bucket: 'b' });
  for (let from = 0; from < count; from += batch) {
    const size = Math.min(batch, count - from);
    const requests = Array.from({ length: size }, (_, at): StoreRequest => {
      const { key, body } = hotel(from + at);
      return { kind: 'set', key, value: Buffer.from(JSON.stringify(body)), cas: 0n, expiry: 0 };
    });
    await client.storeMany(defaultCollection, requests);
  }
  client.close();
}

/** Resolves when a client has received `count` changes of bucket `b` over change streams. */
export async function streamChanges(access: ReturnType<typeof accessOf>, count: number): Promise<void> {
  const nothing = (): void => {};
  let left = count;
  const done = Promise.withResolvers<void>();
  const connection = await ChangeConnection.open({
    ...access,
    bucket: 'b',
    name: 'bench',
    withXattrs: true,
    handler: {
      opened: nothing,
      snapshot: nothing,
      advanced: nothing,
      event: nothing,
      ended: nothing,
      drained: nothing,
      change: () => {
        if (--left === 0) done.resolve();
      },
    },
  });
  const from = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
  for (let vb = 0; vb < vbucketCount; vb++) void connection.request(vb, { from });
  await done.promise;
  connection.close();
}

export const accessOf = (node: NodeProcess) => ({ address: dataAddress(node), account: administrator });
