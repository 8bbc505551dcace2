// Reads the state of a PostgreSQL database: which transactions a query would see now. Equal states of one server run have the same data.
import pg from 'pg';
import { UnavailableError } from '#base/unavailable-error.ts';
import type { StoreState } from './state.ts';

const stateQuery = {
  name: 'state',
  text: `select pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text`,
  rowMode: 'array',
} as const;

interface Connection {
  /** Part of each state: after a lost connection the server may have restarted, and lost transactions that were visible. */
  readonly number: number;
  readonly client: pg.Client;
}

export class PostgresState implements StoreState {
  private readonly config: pg.ClientConfig;
  private readonly onLost: (error: Error) => void;
  private connection: Promise<Connection> | null = null;
  private connections = 0;
  private isClosed = false;
  private next: Promise<string> | null = null;
  private reading: Promise<unknown> = Promise.resolve();

  /** `onLost` is called for a broken connection; the next read opens a new one. */
  constructor(config: pg.ClientConfig, onLost: (error: Error) => void) {
    this.config = config;
    this.onLost = onLost;
  }

  /** A read in progress serves callers that came before it; all later callers share the next read. */
  read(): Promise<string> {
    this.next ??= this.reading.then(pause).then(() => this.begin());
    return this.next;
  }

  async close(): Promise<void> {
    const { connection } = this;
    this.isClosed = true;
    this.connection = null;
    await connection?.then(({ client }) => client.end()).catch(this.onLost);
  }

  private begin(): Promise<string> {
    this.next = null;
    const reading = this.query();
    this.reading = reading.catch(() => {});
    return reading;
  }

  /** Retries once if the connection broke since its last use. @throws UnavailableError */
  private async query(): Promise<string> {
    const isFresh = this.connection === null;
    const read = isFresh ? this.queryOnce() : this.queryOnce().catch(() => this.queryOnce());
    return read.catch((error: Error) => {
      throw this.isClosed ? error : unanswered(error);
    });
  }

  private async queryOnce(): Promise<string> {
    const { number, client } = await this.connected();
    try {
      const { rows } = await client.query<[string]>(stateQuery);
      return `${number} ${rows[0]?.[0]}`;
    } catch (error) {
      this.lose(number, error as Error);
      void client.end().catch(() => {});
      throw error;
    }
  }

  /** Has an effect once per connection. */
  private lose(number: number, error: Error): void {
    if (this.connections !== number || this.connection === null) return;
    this.connection = null;
    this.onLost(error);
  }

  private connected(): Promise<Connection> {
    this.connection ??= this.connect(++this.connections).catch((error: Error) => {
      this.connection = null;
      throw error;
    });
    return this.connection;
  }

  private async connect(number: number): Promise<Connection> {
    if (this.isClosed) throw new Error('the database is closed');
    const client = new pg.Client(this.config);
    client.on('error', (error) => this.lose(number, error));
    await client.connect();
    return { number, client };
  }
}

/** Without the reason, which names the server: the message is shown to clients. */
export const unanswered = (cause: Error): UnavailableError =>
  new UnavailableError('the database of the cloud does not answer', { cause });

/** Resolves after pending input was processed, so that its requests share the read. */
const pause = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
