// The cloud's database in PostgreSQL, for several API servers at once.
import type { Socket } from 'node:net';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { PostgresState } from './postgres-state.adapter.ts';
import type { OpenStore } from './state.ts';
import type { Tables } from './tables.ts';

const int8 = 20;
const connections = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 15_000;
/** A server that can be reached has answered by then, or given up. Idle connections end sooner. */
const silenceMs = 20_000;

/** `onLost` hears of an idle connection that broke; the next query makes a new one. */
export function openPostgres(url: string, onLost: (error: Error) => void): OpenStore {
  const config = {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
  };
  const pool = new pg.Pool({
    ...config,
    max: connections,
    types: { getTypeParser: (id, format) => (id === int8 ? Number : pg.types.getTypeParser(id, format)) },
  });
  pool.on('error', onLost);
  // One in use tells its query as well; without a listener its loss would end the process.
  pool.on('connect', (client) => {
    client.on('error', onLost);
    hangUpOnSilence(client);
  });
  const state = new PostgresState({ ...config, query_timeout: statementTimeoutMs }, onLost);
  return { store: new PostgresStore(pool, state), state };
}

/** Of a network that is cut the system tells after a quarter of an hour; until then whatever was asked would wait. */
function hangUpOnSilence(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.setTimeout(silenceMs, () =>
    stream.destroy(new Error(`the database has not answered for ${silenceMs} ms`)),
  );
}

class PostgresStore extends Kysely<Tables> {
  private readonly state: PostgresState;

  constructor(pool: pg.Pool, state: PostgresState) {
    super({ dialect: new PostgresDialect({ pool }) });
    this.state = state;
  }

  override async destroy(): Promise<void> {
    await this.state.close();
    await super.destroy();
  }
}
