// The cloud's database in PostgreSQL, for several API servers at once.
import type { Socket } from 'node:net';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { PostgresState, unanswered } from './postgres-state.adapter.ts';
import type { OpenStore } from './state.ts';
import type { Tables } from './tables.ts';

/** The number by which PostgreSQL identifies the type `bigint`, whose values the client returns as strings by default. */
const bigintType = 20;
const connectionsMax = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 15_000;
/** A transaction sends its next statement within this time, unless its process is stopped or its network is cut. */
const transactionIdleMs = 30_000;
/** A reachable server answers within this time. */
const silentAfterMs = 20_000;

/** `onLost` is called for a broken idle connection; the next query opens a new one. */
export function openPostgres(
  url: string,
  onLost: (error: Error) => void,
  { idleMs = transactionIdleMs } = {},
): OpenStore {
  const config = {
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // PostgreSQL would otherwise keep the locks of a server that it lost for hours, and all other servers would wait for them.
    idle_in_transaction_session_timeout: idleMs,
  };
  const pool = new pg.Pool({
    ...config,
    max: connectionsMax,
    types: {
      getTypeParser: (id, format) => (id === bigintType ? Number : pg.types.getTypeParser(id, format)),
    },
  });
  pool.on('error', onLost);
  // A connection in use also fails its query; without a listener the error would end the process.
  pool.on('connect', (client) => {
    client.on('error', onLost);
    closeSilentSockets(client);
  });
  const state = new PostgresState({ ...config, query_timeout: statementTimeoutMs }, onLost);
  return { store: new PostgresStore(pool, state), state };
}

/** The system reports a cut network only after 15 minutes; queries would wait that long. */
function closeSilentSockets(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.setTimeout(silentAfterMs, () =>
    stream.destroy(new Error(`the database has not answered for ${silentAfterMs} ms`)),
  );
}

class PostgresStore extends Kysely<Tables> {
  private readonly state: PostgresState;

  constructor(pool: pg.Pool, state: PostgresState) {
    const connect = () =>
      pool.connect().catch((error: Error) => {
        throw unanswered(error);
      });
    super({
      dialect: new PostgresDialect({ pool: { options: pool.options, connect, end: () => pool.end() } }),
    });
    this.state = state;
  }

  override async destroy(): Promise<void> {
    await this.state.close();
    await super.destroy();
  }
}
