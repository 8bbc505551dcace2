import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsentError } from '#client/data-port-error.ts';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { recordKeyspace, recordLimits } from '../../../test/support/record-reads.ts';
import type { BucketClients } from '../data/bucket-clients.ts';
import { Keyspaces } from '../data/keyspaces.ts';
import { TransactionData } from './transaction-data.ts';

test('a repeated request uses the connection that is open when it is repeated', async () => {
  const end = () => Promise.reject(new UnsentError('the connection has ended'));
  const ended = { lookupMany: end, storeMany: end };
  const open = {
    lookupMany: async () => [Status.keyNotFound],
    storeMany: async (_collection: number, _requests: unknown, _signal: unknown, replies: unknown[]) => {
      replies.push({ status: Status.success, cas: 1n, token: null, failedPart: 0 });
    },
  };
  let asked = 0;
  const clients = { clientOf: async () => (asked++ === 0 ? ended : open) } as unknown as BucketClients;
  const data = new TransactionData(clients, new Keyspaces(), realClock);
  assert.deepEqual(await data.linkedDocuments(recordKeyspace, ['a'], recordLimits), [undefined]);
  asked = 0;
  const write = { kind: 'set', key: 'a', value: Buffer.alloc(0), cas: 0n, expiry: 0 } as const;
  const [reply] = await data.store(recordKeyspace, [write], recordLimits);
  assert.equal(reply?.status, Status.success);
});
