// The cloud's database in PostgreSQL, for several API servers at once.
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Store, Tables } from './tables.ts';

const int8 = 20;
const connections = 10;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 15_000;

/** `onLost` hears of an idle connection that broke; the next query makes a new one. */
export function openPostgres(url: string, onLost: (error: Error) => void): Store {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    types: { getTypeParser: (id, format) => (id === int8 ? Number : pg.types.getTypeParser(id, format)) },
  });
  pool.on('error', onLost);
  // One in use tells its query as well; without a listener its loss would end the process.
  pool.on('connect', (client) => client.on('error', onLost));
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}
