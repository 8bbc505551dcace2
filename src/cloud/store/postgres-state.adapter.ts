// The state of a PostgreSQL: which transactions a query sees now. Two equal snapshots of one run of the server see the same.
import pg from 'pg';
import type { StoreState } from './state.ts';

const question = {
  name: 'state',
  text: `select pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text`,
  rowMode: 'array',
} as const;

interface Connection {
  /** Of which one: a server that comes back may have lost what it had shown. */
  readonly number: number;
  readonly client: pg.Client;
}

export class PostgresState implements StoreState {
  private readonly config: pg.ClientConfig;
  private readonly onLost: (error: Error) => void;
  private connection: Promise<Connection> | null = null;
  private connections = 0;
  private closed = false;
  private next: Promise<string> | null = null;
  private underWay: Promise<unknown> = Promise.resolve();

  /** `onLost` hears of a connection that broke; the next reading makes a new one. */
  constructor(config: pg.ClientConfig, onLost: (error: Error) => void) {
    this.config = config;
    this.onLost = onLost;
  }

  /** A reading that has begun is for those who asked before; all others share the next. */
  read(): Promise<string> {
    this.next ??= this.underWay.then(soon).then(() => this.begin());
    return this.next;
  }

  async close(): Promise<void> {
    const { connection } = this;
    this.closed = true;
    this.connection = null;
    await connection?.then(({ client }) => client.end()).catch(this.onLost);
  }

  private begin(): Promise<string> {
    this.next = null;
    const reading = this.ask();
    this.underWay = reading.catch(() => {});
    return reading;
  }

  /** A connection that has broken since it was last used is no reason to refuse a request. */
  private async ask(): Promise<string> {
    const isFresh = this.connection === null;
    try {
      return await this.askOnce();
    } catch (error) {
      if (isFresh) throw error;
      return this.askOnce();
    }
  }

  private async askOnce(): Promise<string> {
    const { number, client } = await this.connected();
    try {
      const { rows } = await client.query<[string]>(question);
      return `${number} ${rows[0]?.[0]}`;
    } catch (error) {
      this.lose(number, error as Error);
      void client.end().catch(() => {});
      throw error;
    }
  }

  /** Told once for each connection. */
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
    if (this.closed) throw new Error('the database is closed');
    const client = new pg.Client(this.config);
    client.on('error', (error) => this.lose(number, error));
    await client.connect();
    return { number, client };
  }
}

/** After what has arrived by now, so that it is asked for together. */
const soon = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
