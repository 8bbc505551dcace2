import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoreRequest } from '#client/bucket-client.ts';
import { Status } from '#wire/status.ts';
import { everyDocument } from './every-document.ts';

const plan = { collectionId: 0, prefix: 'p:', documents: 1_500, value: Buffer.from('{}') };

/** A bucket that answers these statuses, by the number of the request, and else success. */
function aBucket(statuses: Readonly<Record<number, number>>) {
  const requests: StoreRequest[] = [];
  return {
    requests,
    bucket: 'b',
    store: async (_: number, sent: readonly StoreRequest[]) =>
      sent.map((request) => {
        requests.push(request);
        const status = statuses[requests.length - 1] ?? Status.success;
        return { status, cas: 0n, token: null, failedPartStatus: 0 };
      }),
  };
}

test('a load does not begin with documents that the bucket refused', async () => {
  const written = aBucket({});
  await everyDocument(written, plan, 'set', () => {});
  assert.equal(written.requests.length, plan.documents);
  await assert.rejects(
    everyDocument(aBucket({ 1200: Status.noAccess, 1201: Status.noAccess }), plan, 'set', () => {}),
    /^CommandError: document "p:1200": .*; 1498 of 1500 documents are written, and stay$/,
  );
});

test('the documents of a load are deleted also where the bucket refuses some', async () => {
  const deleted = aBucket({ 7: Status.keyNotFound, 8: Status.noAccess });
  await everyDocument(deleted, plan, 'remove', () => {});
  assert.ok(deleted.requests.every(({ kind }) => kind === 'remove'));
});

test('a load that is stopped before the measurement says how many documents are written', async () => {
  const stop = new AbortController();
  await assert.rejects(
    everyDocument(aBucket({}), plan, 'set', () => stop.abort(), stop.signal),
    /^CommandError: stopped: 1000 of 1500 documents are written, and stay$/,
  );
});
