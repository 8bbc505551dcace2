// `kill -9` of a node during the commit of a transaction: after the restart all of its changes apply, or none.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Cluster, type Collection, LookupInSpec } from 'couchbase';
import { atrIdFor } from '#query/transactions/atr-ids.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';
import { connect } from '../support/sdk.ts';

const documents = 500;
/** How many commits are tried until one record is read in the wanted state. */
const commitsMax = 50;
/** The document with the attempt records; its key follows from the document that a transaction changes first. */
const recordId = atrIdFor('k0');

describe('kill -9 while a transaction commits', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-test-'));
  let node: NodeProcess;
  let cluster: Cluster;
  let collection: Collection;
  let query: QueryClient;

  before(() => open());
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function open(): Promise<void> {
    node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    collection = cluster.bucket('b').defaultCollection();
    query = new QueryClient(node.ready.node.query as string);
  }

  for (const state of ['PENDING', 'COMMITTED'])
    test(`when its record says ${state}, all or none of its changes apply after the clean-up`, async () => {
      const committing = await commitSeenIn(state);
      await node.stop('SIGKILL');
      const answer = await committing.answer;
      await cluster.close();
      await open();
      await eventually(async () => assert.deepEqual(await attempts(), {}));
      const rows = (await query.rows(
        'SELECT v, COUNT(*) AS n FROM b WHERE META().id LIKE "k%" GROUP BY v',
      )) as { v: number; n: number }[];
      assert.equal(rows.length, 1, JSON.stringify({ rows, answer }));
      assert.equal(rows[0]?.n, documents);
      if (state === 'COMMITTED') assert.equal(rows[0]?.v, 2);
      await query.rows('UPDATE b SET v = 3 WHERE META().id LIKE "k%"', { tximplicit: true });
    });

  /** A commit whose record was read in this state. Tries further commits while they end before their record was read in that state. */
  async function commitSeenIn(state: string): Promise<{ answer: Promise<unknown> }> {
    const fill = `UPSERT INTO b (KEY k, VALUE {"v": 1}) SELECT "k" || TO_STR(n) AS k FROM ARRAY_RANGE(0, ${documents}) n`;
    for (let commits = 0; commits < commitsMax; commits++) {
      await query.rows(fill);
      const transaction = await query.begin({ txtimeout: '15s', durability_level: 'majority' });
      await query.rows('UPDATE b USE KEYS "k0" SET v = 2', transaction);
      await query.rows('UPDATE b SET v = 2 WHERE v = 1 AND META().id LIKE "k%"', transaction);
      const answer = query.ask('COMMIT', transaction).catch(() => 'no answer');
      let isOver = false;
      void answer.then(() => {
        isOver = true;
      });
      while (!isOver) if (await isRecorded(state)) return { answer };
    }
    return assert.fail(`none of ${commitsMax} records was read while it said ${state}`);
  }

  async function attempts(): Promise<Record<string, { st: string }>> {
    if (!(await collection.exists(recordId)).exists) return {};
    const { content } = await collection.lookupIn(recordId, [LookupInSpec.get('attempts', { xattr: true })]);
    return content[0]?.value ?? {};
  }

  async function isRecorded(state: string): Promise<boolean> {
    const all = await attempts().catch(() => ({}));
    return Object.values(all).some(({ st }) => st === state);
  }
});
