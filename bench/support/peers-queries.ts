// Prepared statements compared with PostgreSQL, interleaved: a document by its key, and ten by an index.

import pg from 'pg';
import { administrator, NodeProcess } from '../../test/support/node-process.ts';
import { Postgres, postgresPrograms } from '../../test/support/postgres.ts';
import { QueryConnection } from './query-connection.ts';
import type { Extent, Figure } from './results.ts';
import { serverMs } from './server-usage.ts';

const documents = 10_000;
const cities = 500;
const clients = 4;

/** A statement for each engine, with one parameter. */
const shapes = [
  {
    name: 'a document by its key, 4 clients',
    ofDivan: 'SELECT b.* FROM b USE KEYS $1',
    ofPostgres: 'SELECT doc FROM b WHERE key = $1',
    parameter: (i: number) => `k${i % documents}`,
  },
  {
    name: 'ten documents by an index, in order, 4 clients',
    ofDivan: 'SELECT b.name, b.n FROM b WHERE b.city = $1 ORDER BY b.n LIMIT 10',
    ofPostgres: `SELECT doc->>'name', doc->'n' FROM b WHERE doc->>'city' = $1 ORDER BY (doc->>'n')::int LIMIT 10`,
    parameter: (i: number) => `city ${i % cities}`,
  },
];

/** Runs the statement with a parameter. */
type Run = (parameter: string) => Promise<unknown>;

interface Engine {
  readonly server: string;
  readonly pid: number;
  prepare(shape: (typeof shapes)[number]): Promise<{ runs: Run[]; close(): Promise<void> }>;
}

export async function queries(extent: Extent): Promise<Figure[]> {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  await using stack = new AsyncDisposableStack();
  const engines: Engine[] = [await divan(node)];
  if (postgresPrograms() === null) console.log('skipped: PostgreSQL is not installed');
  else {
    const postgres = stack.use(await Postgres.start());
    engines.push(await postgresEngine(postgres));
  }
  const found: Figure[] = [];
  for (const shape of shapes) {
    const rates = engines.map((): number[] => []);
    const cpu = engines.map((): number[] => []);
    for (let round = 0; round < extent.rounds; round++)
      for (const [index, engine] of engines.entries()) {
        const { runs, close } = await engine.prepare(shape);
        const { rate, microseconds } = await measured(engine, runs, shape.parameter, extent.seconds);
        rates[index]?.push(rate);
        cpu[index]?.push(microseconds);
        await close();
      }
    for (const [index, { server }] of engines.entries())
      found.push({
        group: 'queries',
        server,
        shape: shape.name,
        unit: 'statements/s',
        values: rates[index] as number[],
        cpuMicroseconds: cpu[index] as number[],
      });
  }
  return found;
}

/** A quarter of the time passes before counting begins. The processor time is that of all statements. */
async function measured(
  { pid }: Engine,
  runs: Run[],
  parameter: (i: number) => string,
  seconds: number,
): Promise<{ rate: number; microseconds: number }> {
  const cpuMs = serverMs(pid);
  const startedMs = performance.now();
  const from = startedMs + seconds * 250;
  const until = from + seconds * 1000;
  let count = 0;
  let all = 0;
  const client = async (run: Run, first: number): Promise<void> => {
    for (let i = first; performance.now() < until; i += 7) {
      await run(parameter(i));
      all++;
      if (performance.now() >= from) count++;
    }
  };
  await Promise.all(runs.map((run, index) => client(run, index * 1000)));
  const rate = (count * 1000) / (performance.now() - from);
  return { rate, microseconds: ((serverMs(pid) - cpuMs) * 1000) / all };
}

async function divan(node: NodeProcess): Promise<Engine> {
  const address = node.ready.node.query;
  if (address === undefined) throw new Error('the node has no query service');
  const open = () => QueryConnection.open(address, administrator);
  const first = await open();
  await first.run({
    statement: `UPSERT INTO b (KEY k, VALUE v) SELECT "k" || TOSTRING(i) AS k,
      {"name": "name " || TOSTRING(i), "city": "city " || TOSTRING(i % ${cities}), "n": i} AS v
      FROM ARRAY_RANGE(0, ${documents}) AS i`,
  });
  await first.run({ statement: 'CREATE INDEX by_city ON b(city, n, name)' });
  first.close();
  return {
    server: 'Divan',
    pid: node.pid,
    async prepare({ ofDivan }) {
      const connections = await Promise.all(Array.from({ length: clients }, open));
      await connections[0]?.run({ statement: `PREPARE FORCE bench AS ${ofDivan}` });
      return {
        runs: connections.map(
          (client) => (parameter) => client.run({ prepared: 'bench', args: [parameter] }),
        ),
        close: async () => connections.forEach((client) => void client.close()),
      };
    },
  };
}

async function postgresEngine({ url: connectionString, pid }: Postgres): Promise<Engine> {
  const first = new pg.Client({ connectionString });
  await first.connect();
  await first.query('CREATE TABLE b (key text PRIMARY KEY, doc jsonb)');
  await first.query(
    `INSERT INTO b SELECT 'k' || i, jsonb_build_object('name', 'name ' || i, 'city', 'city ' || i % ${cities}, 'n', i)
     FROM generate_series(0, ${documents - 1}) i`,
  );
  await first.query(`CREATE INDEX by_city ON b ((doc->>'city'), ((doc->>'n')::int))`);
  await first.query('ANALYZE b');
  await first.end();
  return {
    server: 'PostgreSQL',
    pid,
    async prepare({ ofPostgres: text }) {
      const open = Array.from({ length: clients }, () => new pg.Client({ connectionString }));
      await Promise.all(open.map((client) => client.connect()));
      return {
        runs: open.map((client) => (parameter) => client.query({ name: 'bench', text, values: [parameter] })),
        close: async () => void (await Promise.all(open.map((client) => client.end()))),
      };
    },
  };
}
