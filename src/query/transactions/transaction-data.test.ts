import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { deferred } from '#base/deferred.ts';
import { UnsentError } from '#client/data-port-error.ts';
import { realClock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
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
      replies.push({ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 });
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

test('writes to one record are sent one after the other, at the latest after the timeout of a write', async () => {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const client = {
    storeMany: async (_: number, [request]: { key: string }[], signal: AbortSignal, replies: unknown[]) => {
      const answered = deferred<void>();
      signal.addEventListener('abort', () => answered.reject(new Error('no answer')));
      sent.push(request?.key as string);
      answers.push(answered.resolve);
      await answered.promise;
      replies.push({ status: Status.success, cas: 1n, token: null, failedPartStatus: 0 });
    },
  };
  const clients = { clientOf: async () => client } as unknown as BucketClients;
  const clock = new ManualClock();
  const data = new TransactionData(clients, new Keyspaces(), clock);
  const limits = { ...recordLimits, kvTimeoutMs: 1_000 };
  const write = (key: string) =>
    data.store(recordKeyspace, [{ kind: 'set', key, value: Buffer.alloc(0), cas: 0n, expiry: 0 }], limits);
  const [record, other] = ['_txn:atr-7-#10', '_txn:atr-8-#10'];
  const [first, second, third, ...others] = [record, record, record, other, 'document', 'document'].map(
    write,
  );
  await setImmediate();
  assert.deepEqual(sent, [record, other, 'document', 'document']);
  for (const answer of answers.splice(0)) answer();
  await Promise.all([first, ...others]);
  await setImmediate();
  assert.deepEqual(sent.splice(0), [record, other, 'document', 'document', record]);
  // The second gets no answer.
  const refused = assert.rejects(second as Promise<unknown>);
  clock.advance(1_000);
  await refused;
  await setImmediate();
  assert.deepEqual(sent, [record]);
  answers.at(-1)?.();
  await third;
});
