// The folder of a node's own NATS server. All files are readable by their owner only: the server reads its password and its key from them.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '#ports/private-file.ts';
import type { Random } from '#ports/random.ts';
import { type OwnServerSettings, type ServerPaths, serverConfiguration } from './server-settings.ts';

export class ServerFolder {
  readonly path: string;
  readonly configurationPath: string;
  readonly pidPath: string;
  readonly #settingsPath: string;
  readonly #paths: ServerPaths;

  constructor(path: string) {
    this.path = path;
    const inside = (name: string): string => join(path, name);
    this.configurationPath = inside('nats.conf');
    this.pidPath = inside('nats.pid');
    this.#settingsPath = inside('server.json');
    this.#paths = {
      store: inside('store'),
      log: inside('nats.log'),
      pid: this.pidPath,
      ca: inside('ca.pem'),
      cert: inside('cert.pem'),
      key: inside('key.pem'),
    };
  }

  /** Null: this node runs no server. */
  get settings(): OwnServerSettings | null {
    return this.#stored;
  }

  /** The path of the program with which the server was made; null: it is not known. */
  get program(): string | null {
    return this.#stored?.program ?? null;
  }

  get #stored(): (OwnServerSettings & { program?: string }) | null {
    if (!existsSync(this.#settingsPath)) return null;
    return JSON.parse(readFileSync(this.#settingsPath, 'utf8')) as OwnServerSettings & { program?: string };
  }

  /** The end of the server's log, for the reason why it ended. */
  get lastLines(): string {
    if (!existsSync(this.#paths.log)) return '';
    const lines = readFileSync(this.#paths.log, 'utf8').trimEnd().split('\n');
    // The node checks whether the server's port is open: it connects and closes the connection before the handshake.
    return lines
      .filter((line) => !line.endsWith('TLS handshake error: EOF'))
      .slice(-5)
      .join('\n');
  }

  /** Stores these settings, and the program that reads them, and removes everything that an earlier server stored. */
  renew(settings: OwnServerSettings, program: string): void {
    this.remove();
    makePrivate(this.path);
    writePrivate(this.#settingsPath, `${JSON.stringify({ ...settings, program })}\n`);
  }

  /** Writes the files that the server reads. The server's name is kept in its store: with an emptied store it gets another name. */
  prepare(settings: OwnServerSettings, random: Random): void {
    const { store, ca, cert, key } = this.#paths;
    makePrivate(store);
    if (this.name === null) writePrivate(this.#namePath, `divan-${random.bytes(8).toString('hex')}`);
    writePrivate(ca, settings.tls.ca);
    writePrivate(cert, settings.tls.cert);
    writePrivate(key, settings.tls.key);
    writePrivate(this.configurationPath, serverConfiguration(settings, this.name as string, this.#paths));
  }

  /** The server's name in the NATS cluster; null: no server has used the present store. */
  get name(): string | null {
    return existsSync(this.#namePath) ? readFileSync(this.#namePath, 'utf8') : null;
  }

  get #namePath(): string {
    return join(this.#paths.store, 'server-name');
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function makePrivate(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
}
