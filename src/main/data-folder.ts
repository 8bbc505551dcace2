// The data folder of a process: readable by its owner only, with the key file that encrypts its secrets.
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { writePrivate } from '#ports/private-file.ts';
import type { Random } from '#ports/random.ts';
import { syncPath } from '#ports/sync-path.ts';
import { MembershipFile, natsFile } from './membership-file.ts';
import { StartError } from './start-error.ts';

/** Set on folders that many users share, such as /tmp. */
const stickyBit = 0o1000;
const keyFile = 'secret.key';
const idFile = 'folder.id';
const nodeIdFile = 'node.id';
const passwordFile = 'administrator.sealed';
const sealPurpose = 'administrator';
const firstStartFile = 'first-start.pending';

/** Which store on NATS servers a node uses. */
interface NatsState {
  bucket: string;
  identity: string;
  revision: number;
}

export const configurationPath = (folder: string): string => join(folder, 'config.db');

export class DataFolder {
  readonly path: string;
  private readonly random: Random;

  private constructor(path: string, random: Random) {
    this.path = path;
    this.random = random;
  }

  /** True for a folder in which a node has started before. */
  static isNode(path: string): boolean {
    return existsSync(configurationPath(path)) || DataFolder.isOnNats(path) || MembershipFile.isMember(path);
  }

  /** True if the configuration of the node is on NATS servers. */
  static isOnNats(path: string): boolean {
    return existsSync(join(path, natsFile));
  }

  /** True if no first start in this folder has completed. */
  static awaitsFirstStart(path: string): boolean {
    return !DataFolder.isNode(path) || existsSync(join(path, firstStartFile));
  }

  /** Creates the folder if it is absent; makes it readable by its owner only. */
  static open(path: string, random: Random): DataFolder {
    const absolute = resolve(path);
    try {
      makeFolder(absolute);
      refuseShared(absolute);
      chmodSync(absolute, 0o700);
    } catch (error) {
      throw new StartError(`--data-dir: cannot use ${absolute}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    return new DataFolder(absolute, random);
  }

  /** Encrypts with the folder's key, or with that of another file. Creates the key on first use. */
  secrets(path = join(this.path, keyFile)): SecretBox {
    if (!existsSync(path)) writeOnce(path, this.newKey());
    return new SecretBox(readFileSync(path), this.random);
  }

  /** The folder's own key; on the founder of a cluster, the cluster's. */
  key(): Uint8Array {
    return readFileSync(join(this.path, keyFile));
  }

  /** A lost key must not be replaced by a new one, which could not decrypt the stored secrets. */
  private newKey(): Uint8Array {
    if (existsSync(configurationPath(this.path)))
      throw new Error('it is missing, though there is a config.db');
    if (DataFolder.isOnNats(this.path)) throw new Error(`it is missing, though there is a ${natsFile}`);
    return this.random.bytes(secretKeyBytes);
  }

  /** The unique id of this folder. The first call stores it: the one that `existingId` returns, or a new one. */
  id(existingId: () => string | null = () => null): string {
    const path = join(this.path, idFile);
    if (!existsSync(path)) writePrivate(path, existingId() ?? this.random.uuid());
    // An operator may have written it, with a line end.
    return readFileSync(path, 'utf8').trim();
  }

  /** The id of the node that this folder belongs to; null until `keepNodeId` was called. */
  get nodeId(): string | null {
    const path = join(this.path, nodeIdFile);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  }

  keepNodeId(id: string): void {
    writePrivate(join(this.path, nodeIdFile), id);
  }

  /** The store on NATS servers that this node uses, and its newest state seen; null without one. Throws for a damaged file. */
  get natsState(): NatsState | null {
    if (!DataFolder.isOnNats(this.path)) return null;
    try {
      return JSON.parse(readFileSync(join(this.path, natsFile), 'utf8')) as NatsState;
    } catch (error) {
      throw new StartError(
        `the file ${join(this.path, natsFile)} cannot be read: ${(error as Error).message}`,
      );
    }
  }

  keepNatsState(state: NatsState): void {
    writePrivate(join(this.path, natsFile), `${JSON.stringify(state)}\n`);
  }

  /** The name and the generated password of the administrator that `divan up` created on first start, if they are kept. */
  generatedAdministrator(): { username: string; password: string } | null {
    const path = join(this.path, passwordFile);
    if (!existsSync(path)) return null;
    return JSON.parse(this.secrets().open(sealPurpose, readFileSync(path, 'utf8'))) as {
      username: string;
      password: string;
    };
  }

  /** A first start began and did not complete: its plan may have been applied in part. */
  get firstStartPending(): boolean {
    return existsSync(join(this.path, firstStartFile));
  }

  /** Keeps the progress that an interrupted first start has recorded. */
  beginFirstStart(): void {
    if (!this.firstStartPending) writePrivate(join(this.path, firstStartFile), '');
  }

  /** How many statements of the init file the pending first start has run; they are not run again. */
  get statementsDone(): number {
    return Number(readFileSync(join(this.path, firstStartFile), 'utf8')) || 0;
  }

  noteStatements(count: number): void {
    writePrivate(join(this.path, firstStartFile), String(count));
  }

  endFirstStart(): void {
    rmSync(join(this.path, firstStartFile));
    syncPath(this.path);
  }

  /** Forgets the generated password. Call when the administrator has, or gets, other credentials. */
  removeGeneratedAdministrator(): void {
    rmSync(join(this.path, passwordFile), { force: true });
  }

  keepGeneratedAdministrator(administrator: { username: string; password: string }): void {
    const sealed = this.secrets().seal(sealPurpose, JSON.stringify(administrator));
    writePrivate(join(this.path, passwordFile), sealed);
  }
}

/** Creates one folder at a time: Node's recursive form never returns below places like /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/** Refuses a file, and a folder shared by many users unless it is empty (a new tmpfs): the node must not change their permissions. */
function refuseShared(path: string): void {
  const about = statSync(path);
  if (!about.isDirectory()) throw new Error('it is a file');
  if ((about.mode & stickyBit) !== 0 && readdirSync(path).length > 0)
    throw new Error('other users have files there, too; name a folder in it');
}

/** Writes a new file. If several processes do so at once, the bytes of the first one are kept. */
function writeOnce(path: string, bytes: Uint8Array): void {
  const own = `${path}.${process.pid}`;
  writePrivate(own, bytes);
  try {
    linkSync(own, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own);
  }
}
