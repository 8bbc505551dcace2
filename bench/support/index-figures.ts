// Building indexes and changing indexed keys, compared with PostgreSQL: elapsed time and processor time of the servers.
import pg from 'pg';
import { administrator, NodeProcess } from '../../test/support/node-process.ts';
import { Postgres, postgresPrograms } from '../../test/support/postgres.ts';
import { compared, figure, type Sides } from './compared.ts';
import { hotel, writeHotels } from './hotels.ts';
import { QueryConnection } from './query-connection.ts';
import { serverMs } from './server-usage.ts';

const changesMax = 1_000;

/** Writes the documents as rows of a new table. */
export async function writeRows(client: pg.Client, count: number): Promise<void> {
  await client.query('create table docs (id text primary key, doc jsonb)');
  for (let from = 0; from < count; from += 1_000) {
    const size = Math.min(1_000, count - from);
    const rows = Array.from({ length: size }, (_, at) => hotel(from + at));
    const [ids, bodies] = [rows.map(({ key }) => key), rows.map(({ body }) => JSON.stringify(body))];
    await client.query('insert into docs select * from unnest($1::text[], $2::jsonb[])', [ids, bodies]);
  }
}

/** Updates of the key of an index by statements, each visible to a read of the index when it is counted. */
export async function changesOfKeys(
  sides: Sides,
  client: QueryConnection,
  peer: pg.Client | null,
  rounds: number,
): Promise<void> {
  const keys = (round: number) =>
    Array.from({ length: changesMax }, (_, at) => `hotel_${(round * changesMax + at) % 100_000}`);
  await compared(
    `changes of keys of two indexes, ${changesMax} a statement (the goal of 15,000 changes for each index and CPU-second is for the index service alone, without the time of the statements)`,
    { sides, rounds: Math.max(4, rounds / 10), each: changesMax },
    async (round) => {
      const statement = 'UPDATE b._default._default d USE KEYS $keys SET d.n = d.n + 1';
      await client.run({ statement, $keys: keys(round) });
      const read = 'SELECT RAW COUNT(*) FROM b._default._default d WHERE d.n = -1';
      await client.run({ statement: read, scan_consistency: 'request_plus' });
    },
    async (round) => {
      const text = `update docs set doc = jsonb_set(doc, '{n}', to_jsonb((doc->>'n')::int + 1)) where id = any($1)`;
      await peer?.query(text, [keys(round)]);
    },
  );
}

/** CREATE INDEX until it is online, on a small and a large collection. */
export async function builds(smoke: boolean): Promise<void> {
  for (const [count, goal] of smoke
    ? [[1_000, '']]
    : ([
        [1_000, ' (goal 150 ms)'],
        [1_000_000, ' (goal 12 s)'],
      ] as const)) {
    const texts = [await buildOnNode(Number(count)), await buildOnPostgres(Number(count))];
    console.log(
      `CREATE INDEX on ${figure(Number(count))} documents${goal}: ${texts.filter((each) => each !== '').join(', ')}`,
    );
  }
}

async function buildOnNode(count: number): Promise<string> {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await node.request('/pools/default/buckets/b', 'POST', { ramQuotaMB: '2048' });
  await writeHotels(node, count);
  const client = await QueryConnection.open(node.ready.node.query as string, administrator);
  // The first statement loads the engine, and the first index starts its thread.
  await client.run({ statement: 'CREATE INDEX by_nothing ON b(nothing)' });
  const statement = 'CREATE INDEX by_n ON b(n)';
  const text = await timedBuild('Divan', node.pid, () => client.run({ statement, timeout: '600s' }));
  client.close();
  return text;
}

async function buildOnPostgres(count: number): Promise<string> {
  if (postgresPrograms() === null) return '';
  await using server = await Postgres.start();
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await writeRows(client, count);
  const text = await timedBuild('PostgreSQL', server.pid, () =>
    client.query("create index on docs (((doc->>'n')::int))"),
  );
  await client.end();
  return text;
}

async function timedBuild(name: string, pid: number, act: () => Promise<unknown>): Promise<string> {
  const [cpuBeforeMs, startedMs] = [serverMs(pid), performance.now()];
  await act();
  const [cpuMs, ms] = [serverMs(pid) - cpuBeforeMs, performance.now() - startedMs];
  return `${name} ${ms.toFixed(0)} ms (${cpuMs} ms of processor time)`;
}
