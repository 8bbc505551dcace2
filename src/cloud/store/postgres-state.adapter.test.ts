import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { needs } from '../../../test/support/needs.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Postgres } from '../../../test/support/postgres.ts';
import { openPostgres } from './postgres.adapter.ts';
import { PostgresState } from './postgres-state.adapter.ts';

/** The connections that read states. */
const readers = `select pid from pg_stat_activity where query like 'select pg_current_snapshot%'`;

describe('the state of a PostgreSQL database', { skip: needs('postgresql') }, () => {
  let server: Postgres;
  before(async () => {
    server = await Postgres.start();
  });
  after(() => server[Symbol.asyncDispose]());

  async function aState(t: TestContext) {
    const lost: Error[] = [];
    const state = new PostgresState({ connectionString: server.url }, (error) => lost.push(error));
    const writer = new pg.Client({ connectionString: server.url });
    writer.on('error', () => {});
    await writer.connect();
    await writer.query('create temporary table t (a int)');
    t.after(() => Promise.all([state.close(), writer.end()]));
    return { state, lost, write: (i: number) => writer.query('insert into t values ($1)', [i]), writer };
  }

  /** Reads that are always in progress, so that no test's own read is the only one. */
  function startReaders(state: PostgresState) {
    let isReading = true;
    const runOne = async (): Promise<void> => {
      while (isReading) await state.read();
    };
    const all = [runOne(), runOne(), runOne()];
    return async () => {
      isReading = false;
      await Promise.all(all);
    };
  }

  test('differs after each acknowledged write, and stays the same between writes', async (t) => {
    const { state, write } = await aState(t);
    const stopReaders = startReaders(state);
    const seen = new Set<string>();
    for (let i = 0; i < 200; i++) {
      await write(i);
      const now = await state.read();
      assert.equal(seen.has(now), false, `write ${i}`);
      seen.add(now);
      assert.equal(await state.read(), now);
    }
    await stopReaders();
  });

  test('does not change with the writes of an open transaction until its commit', async (t) => {
    const { state, writer, write } = await aState(t);
    await writer.query('begin');
    await write(1);
    const during = await state.read();
    await write(2);
    assert.equal(await state.read(), during);
    await writer.query('commit');
    assert.notEqual(await state.read(), during);
  });

  test('is read once for concurrent callers', async (t) => {
    const { state } = await aState(t);
    const all = Array.from({ length: 50 }, () => state.read());
    assert.equal(new Set(all).size, 1);
    assert.equal(new Set(await Promise.all(all)).size, 1);
  });

  test('is read again for a caller that calls during a read', async (t) => {
    const { state } = await aState(t);
    await state.read();
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const first = state.read();
    await turn();
    await turn();
    const second = state.read();
    assert.notEqual(second, first);
    assert.equal(await second, await first);
  });

  test('cannot be read after the close', async (t) => {
    const { state, writer } = await aState(t);
    await state.read();
    const refused = assert.rejects(state.read(), /closed/);
    await state.close();
    await refused;
    await assert.rejects(state.read(), /closed/);
    await eventually(async () => assert.equal((await writer.query(readers)).rowCount, 0));
  });

  test('differs after a lost connection, and no read fails', async (t) => {
    const { state, writer, lost } = await aState(t);
    const before = await state.read();
    assert.equal(await state.read(), before);
    const { rows } = await writer.query(readers);
    assert.equal(rows.length, 1);
    await writer.query('select pg_terminate_backend($1)', [rows[0].pid]);
    assert.notEqual(await state.read(), before);
    assert.equal(lost.length, 1);
  });

  test('is not blocked by a transaction that a lost server left open: its locks end', async (t) => {
    const { writer } = await aState(t);
    await writer.query(
      `create table locked (a int); insert into locked values (1); set lock_timeout = '10s'`,
    );
    const lost = openPostgres(server.url, () => {}, { idleMs: 100 });
    await assert.rejects(
      lost.store.transaction().execute(async (transaction) => {
        await sql`update locked set a = 2`.execute(transaction);
        // Waits for the lock of the transaction, which sends nothing more before that.
        await writer.query('update locked set a = 3');
        await sql`update locked set a = 4`.execute(transaction);
      }),
    );
    assert.deepEqual((await writer.query('select a from locked')).rows, [{ a: 3 }]);
    await lost.store.destroy();
  });

  test('differs after a restart of the server, and cannot be read while the server is down', async (t) => {
    const { state } = await aState(t);
    const known = await state.read();
    await server.stop();
    await assert.rejects(async () => state.read());
    await server.restart();
    assert.notEqual(await state.read(), known);
  });
});
