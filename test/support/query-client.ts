// Sends statements to the query port as plain HTTP requests.
import { administrator } from './node-process.ts';

export interface QueryAnswer {
  results?: unknown[];
  errors?: { code: number; msg: string; retry?: boolean; cause?: Record<string, unknown> }[];
  status: string;
  metrics?: Record<string, unknown>;
}

export type Account = { username: string; password: string };

export class QueryClient {
  private readonly url: string;
  private readonly account: Account;

  /** `url` as the ready file names the query port. */
  constructor(url: string, account: Account = administrator) {
    this.url = url;
    this.account = account;
  }

  async ask(statement: string, parameters: Record<string, unknown> = {}): Promise<QueryAnswer> {
    const { username, password } = this.account;
    const response = await fetch(`${this.url}/query/service`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ statement, ...parameters }),
    });
    return (await response.json()) as QueryAnswer;
  }

  /** Rows of a statement that succeeds. */
  async rows(statement: string, parameters: Record<string, unknown> = {}): Promise<unknown[]> {
    const { results = [], errors } = await this.ask(statement, parameters);
    if (errors !== undefined) throw new Error(`${statement}: ${JSON.stringify(errors)}`);
    return results;
  }

  /** Code of the first error; 0: it succeeded. */
  async code(statement: string, parameters: Record<string, unknown> = {}): Promise<number> {
    return (await this.ask(statement, parameters)).errors?.[0]?.code ?? 0;
  }

  /** Begins a transaction; answers the parameter that names it. */
  async begin(parameters: Record<string, unknown> = {}): Promise<{ txid: string }> {
    const [row] = await this.rows('BEGIN WORK', parameters);
    return row as { txid: string };
  }
}
