// A real PostgreSQL for a test, in a new data folder on a free port, removed at the end.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { endAfterTests } from './left-running.ts';
import { eventually } from './node-process.ts';

/** Where Debian keeps the servers' programs; null when there are none. */
export function postgresPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(a) - Number(b)) : [];
  const newest = versions.at(-1);
  return newest === undefined ? null : join(root, newest, 'bin');
}

export class Postgres {
  readonly url: string;
  private readonly folder: string;
  private readonly port: number;
  private child: ChildProcess;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
    this.url = `postgres://divan:divan@127.0.0.1:${port}/postgres`;
    this.child = this.launch();
  }

  static async start(): Promise<Postgres> {
    const folder = mkdtempSync(join(tmpdir(), 'divan-postgres-'));
    const owner = account();
    if (owner !== null) chownSync(folder, owner.uid, owner.gid);
    const password = `${folder}.password`;
    writeFileSync(password, 'divan', { mode: 0o644 });
    const initdb = [
      '-D',
      join(folder, 'data'),
      '-U',
      'divan',
      '--auth=scram-sha-256',
      `--pwfile=${password}`,
      '--no-sync',
    ];
    execFileSync(join(postgresPrograms() as string, 'initdb'), initdb, { stdio: 'ignore', ...owner });
    rmSync(password);
    const server = new Postgres(folder, await freePort());
    await server.untilReady();
    return server;
  }

  /** A new database on this server, which orders text by the rules of a language, as many operators' databases do. */
  async database(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(
      `create database ${name} template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'`,
    );
    await client.end();
    return this.url.replace(/postgres$/, name);
  }

  /** The id of the main process of the server. */
  get pid(): number {
    return this.child.pid as number;
  }

  /** Stops the server; `restart` starts it again with the same data. */
  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGINT');
    await ended;
  }

  async restart(): Promise<void> {
    this.child = this.launch();
    await this.untilReady();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private launch(): ChildProcess {
    const args = [
      '-D',
      join(this.folder, 'data'),
      '-p',
      String(this.port),
      '-h',
      '127.0.0.1',
      '-k',
      this.folder,
      '-F',
    ];
    const program = join(postgresPrograms() as string, 'postgres');
    const child = spawn(program, args, { stdio: 'ignore', ...account() });
    endAfterTests(child);
    return child;
  }

  private untilReady(): Promise<void> {
    return eventually(async () => {
      const client = new pg.Client({ connectionString: this.url });
      client.on('error', () => {});
      await client.connect();
      await client.end();
    });
  }
}

/** PostgreSQL refuses to run as root: a test that runs as root starts it under the account that Debian creates for it. */
function account(): { uid: number; gid: number } | null {
  if (userInfo().uid !== 0) return null;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
