// A repository: a folder with `repository.json` and one folder per backup. A backup with `manifest.json` is complete; one with
// `partial.json` only was interrupted. The manifest is written last, so that an incomplete backup is recognized.
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Clock } from '#ports/clock.ts';
import {
  FolderInUseError,
  type FolderLock,
  isLockFile,
  lockFolder,
  shareFolder,
} from '#ports/folder-lock.ts';
import { hexId, type Random, realRandom } from '#ports/random.ts';
import { syncPath } from '#ports/sync-path.ts';
import { BackupError } from '../format/backup-error.ts';
import type { BlockOwner } from '../format/block.ts';
import {
  type BackupManifest,
  backupNamePattern,
  bucketsMax,
  type MergedBackups,
  parseManifest,
} from '../format/manifest.ts';
import { jsonField, type Shape, ShapeError } from '../format/shape.ts';
import { readJson, readSmall, writeWhole } from './archive-file.adapter.ts';
import { DataReader } from './data-file.adapter.ts';
import { manifestBytesMax, manifestText, manifestTextInTurns } from './manifest-text.ts';
import { isSameDigest, RepositoryKeys, type WrappingCost } from './repository-keys.adapter.ts';

const repositoryFile = 'repository.json';
const manifestFile = 'manifest.json';
const partialFile = 'partial.json';
/** The field `format` of `repository.json`. */
const repositoryFormat = 'divan-backup-repository';
/** Versions of `repository.json`. */
const plainVersion = 1;
const encryptedVersion = 2;

/** The description of an interrupted backup, in `partial.json`. */
export interface InterruptedBackup {
  readonly id: string;
  readonly name: string;
  readonly startedAt: string;
  readonly after: BackupManifest['after'];
  /** In the order of their data files. */
  readonly buckets: readonly { readonly name: string; readonly uuid: string }[];
}

const partialShape: Shape = jsonField.object({
  id: jsonField.text(/^[0-9a-f]{32}$/),
  name: jsonField.text(backupNamePattern),
  startedAt: jsonField.text(/^.{1,40}$/),
  after: jsonField.nullable(
    jsonField.object({ name: jsonField.text(backupNamePattern), id: jsonField.text(/^[0-9a-f]{32}$/) }),
  ),
  buckets: jsonField.list(
    bucketsMax,
    jsonField.object({ name: jsonField.text(/./), uuid: jsonField.text(/./) }),
  ),
});

export class Repository {
  readonly path: string;
  readonly id: string;
  private readonly keys: RepositoryKeys | null;

  private constructor(path: string, id: string, keys: RepositoryKeys | null) {
    this.path = path;
    this.id = id;
    this.keys = keys;
  }

  /** @throws BackupError unless the folder is a repository that the passphrase fits */
  static open(folder: string, passphrase?: string): Repository {
    const path = resolve(folder);
    if (!existsSync(path)) throw new BackupError(`${path} does not exist`);
    const file = join(path, repositoryFile);
    if (!existsSync(file))
      throw new BackupError(`${path} is not a repository of backups: it has no ${repositoryFile}`);
    const { format, version, id, encryption } = readJson(file) as Record<string, unknown>;
    if (format !== repositoryFormat || typeof id !== 'string' || !/^[0-9a-f]{32}$/.test(id))
      throw new BackupError(`${file} does not describe a repository of backups`);
    if (version !== plainVersion && version !== encryptedVersion)
      throw new BackupError(
        `${file} has version ${String(version)}; this release reads versions ${plainVersion} and ${encryptedVersion}`,
      );
    // A repository that was replaced by a plain one must not be used unnoticed.
    if (version === plainVersion && passphrase !== undefined)
      throw new BackupError(`a passphrase is given, but ${path} is not encrypted`);
    if (version === plainVersion) return new Repository(path, id, null);
    if (passphrase === undefined) throw new BackupError(`${path} is encrypted: give its passphrase`);
    return new Repository(path, id, RepositoryKeys.open(file, { id, encryption }, passphrase, realRandom));
  }

  /** Makes the folder if it is missing. @throws BackupError unless it is a repository or has no files */
  static prepareFolder(folder: string): void {
    const path = resolve(folder);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    const names = readdirSync(path).filter((name) => !isLockFile(name) && !name.endsWith('.new'));
    if (names.length > 0 && !names.includes(repositoryFile))
      throw new BackupError(`${path} has other files; give an empty folder, or one with earlier backups`);
  }

  /**
   * Opens the repository in a prepared folder, or creates one there, encrypted if there is a passphrase. Call while holding the lock: of two
   * repositories that were created in one folder the second would replace the first.
   */
  static openOrCreate(folder: string, random: Random, passphrase?: string, cost?: WrappingCost): Repository {
    const path = resolve(folder);
    if (existsSync(join(path, repositoryFile))) return Repository.open(path, passphrase);
    const id = hexId(random);
    const sealing = passphrase === undefined ? null : RepositoryKeys.create(id, passphrase, random, cost);
    const version = sealing === null ? plainVersion : encryptedVersion;
    const description = {
      format: repositoryFormat,
      version,
      id,
      ...(sealing && { encryption: sealing.encryption }),
    };
    writeWhole(join(path, repositoryFile), `${JSON.stringify(description)}\n`);
    return new Repository(path, id, sealing?.keys ?? null);
  }

  /** One task writes at a time, and none while another one reads. @throws BackupError that names the holder */
  static lock(folder: string): FolderLock {
    return lockedOrExplained(resolve(folder), lockFolder);
  }

  /** Several tasks may read at a time, while none writes. @throws BackupError that names the holder */
  static share(folder: string): Pick<FolderLock, 'release'> {
    return lockedOrExplained(resolve(folder), shareFolder);
  }

  /** Names of complete backups, the oldest first. */
  complete(): string[] {
    return this.folders().filter((name) => existsSync(join(this.path, name, manifestFile)));
  }

  /** Changes when a backup is completed, merged or removed. */
  fingerprint(): string {
    const manifests = this.complete().map((name) => {
      const { ino, mtimeMs } = statSync(join(this.path, name, manifestFile), { throwIfNoEntry: false }) ?? {};
      return `${name} ${ino} ${mtimeMs}`;
    });
    return manifests.join('\n');
  }

  /** The complete backup of this name; without a name the newest. @throws BackupError when there is none */
  chosen(name: string | undefined): string {
    const complete = this.complete();
    const found = name ?? complete.at(-1);
    if (found === undefined) throw new BackupError(`${this.path} has no complete backup`);
    if (complete.includes(found)) return found;
    throw new BackupError(
      `${this.path} has no complete backup "${found}"; it has ${complete.join(', ') || 'none'}`,
    );
  }

  /** The interrupted backups. */
  partial(): string[] {
    return this.folders().filter((name) => !existsSync(join(this.path, name, manifestFile)));
  }

  private folders(): string[] {
    const names = readdirSync(this.path).filter((name) => backupNamePattern.test(name));
    return names
      .filter((name) => lstatSync(join(this.path, name), { throwIfNoEntry: false })?.isDirectory() === true)
      .sort();
  }

  /** @throws BackupError when the manifest is missing, changed, or of another repository */
  manifest(name: string): BackupManifest {
    const path = join(this.path, name, manifestFile);
    if (!existsSync(path))
      throw new BackupError(`${dirname(path)} is no complete backup: it has no ${manifestFile}`);
    const text = readSmall(path, manifestBytesMax);
    const manifest = parseManifest(text.toString(), path);
    // The checksum file has two lines while a merge replaces the manifest: one for the old and one for the new.
    const stated = readSmall(join(this.path, name, this.checksumFile))
      .toString()
      .split('\n');
    const digest = this.digestOf(text);
    if (!stated.some((line) => isSameDigest(line.split(' ')[0] as string, digest)))
      throw new BackupError(`${path} was changed: ${this.checksumFile} states another hash`);
    if (manifest.repository !== this.id) throw new BackupError(`${path} belongs to another repository`);
    if (manifest.name !== name) throw new BackupError(`${path} is the manifest of backup ${manifest.name}`);
    return manifest;
  }

  /** The backup and those that it continues, the newest first. @throws BackupError when one of them is gone */
  chain(name: string): BackupManifest[] {
    const found = [this.manifest(name)];
    for (let after = found[0]?.after ?? null; after !== null; ) {
      const before = this.manifest(after.name);
      if (before.id !== after.id || before.name >= (found.at(-1) as BackupManifest).name)
        throw new BackupError(
          `${this.path}: backup ${(found.at(-1) as BackupManifest).name} does not continue ${after.name}`,
        );
      found.push(before);
      after = before.after;
    }
    return found;
  }

  data(backup: Pick<BackupManifest, 'id' | 'name' | 'merged'>, bucket: number): DataReader {
    return new DataReader(this.dataPath(backup, bucket), this.dataOwner(backup, bucket));
  }

  dataPath({ name, merged }: Pick<BackupManifest, 'name' | 'merged'>, bucket: number): string {
    return join(this.path, name, merged === undefined ? `${bucket}.data` : mergedFile(bucket, merged));
  }

  /** What blocks of a data file are checked and decrypted with. */
  dataOwner({ id, merged }: Pick<BackupManifest, 'id' | 'merged'>, bucket: number): BlockOwner {
    const backup = Buffer.from(merged?.id ?? id, 'hex');
    return { backup, bucket, cipher: this.keys?.blockCipher(backup, bucket) ?? null };
  }

  /** In an encrypted repository its lines are MACs, which nobody can make without the passphrase. */
  private get checksumFile(): string {
    return this.keys === null ? 'manifest.sha256' : 'manifest.hmac';
  }

  /** The MAC in an encrypted repository, else a hash. */
  private digestOf(text: string | Buffer): string {
    return this.keys?.manifestMac(text) ?? createHash('sha256').update(text).digest('hex');
  }

  private checksumLine(text: string | Buffer): string {
    return `${this.digestOf(text)}  ${manifestFile}\n`;
  }

  /** Creates the folder of a backup that starts now. */
  begin(clock: Clock, id: string, chosen: Pick<InterruptedBackup, 'after' | 'buckets'>): InterruptedBackup {
    const nowMs = clock.wallMs();
    const name = this.freeName(backupNameOf(nowMs));
    const startedAt = new Date(nowMs).toISOString();
    const partial = { id, name, startedAt, ...chosen };
    mkdirSync(join(this.path, name), { mode: 0o700 });
    writeWhole(join(this.path, name, partialFile), `${JSON.stringify(partial)}\n`);
    syncPath(this.path);
    return partial;
  }

  /** A name that sorts after those of all other backups, also if the clock was set back. */
  private freeName(wanted: string): string {
    const newest = this.folders().at(-1);
    if (newest === undefined || wanted > newest) return wanted;
    const newestMs = Date.parse(newest.replace(/-\d{1,3}$/, '').replaceAll('_', ':'));
    const name = newestMs < lastNameMs ? backupNameOf(newestMs + 1) : '';
    if (name > newest) return name;
    throw new BackupError(`${this.path}: no name of a backup can sort after ${newest}: remove that folder`);
  }

  /** Null when its description is missing or damaged: the backup cannot be completed. */
  readPartial(name: string): InterruptedBackup | null {
    try {
      const partial = readJson(join(this.path, name, partialFile));
      partialShape(partial, '');
      return partial as InterruptedBackup;
    } catch (error) {
      if (error instanceof BackupError || error instanceof ShapeError) return null;
      throw error;
    }
  }

  /** The text that `finish` and `replaceManifest` write, made in several turns of the thread. @throws BackupError for a manifest that a reader would refuse */
  manifestText(manifest: BackupManifest, clock: Pick<Clock, 'soon'>): Promise<string> {
    return manifestTextInTurns(manifest, this.manifestPath(manifest), clock);
  }

  private manifestPath({ name }: Pick<BackupManifest, 'name'>): string {
    return join(this.path, name, manifestFile);
  }

  /** Completes a backup whose data files are synced. @throws BackupError for a manifest that a reader would refuse */
  finish(manifest: BackupManifest, text = manifestText(manifest, this.manifestPath(manifest))): void {
    const folder = join(this.path, manifest.name);
    writeWhole(join(folder, this.checksumFile), this.checksumLine(text));
    writeWhole(join(folder, manifestFile), text);
    rmSync(join(folder, partialFile), { force: true });
  }

  /**
   * Replaces the manifest of a complete backup: after a crash there is the old one or the new one.
   * @throws BackupError for a manifest that a reader would refuse
   */
  replaceManifest(
    manifest: BackupManifest,
    text = manifestText(manifest, this.manifestPath(manifest)),
  ): void {
    const folder = join(this.path, manifest.name);
    const before = readSmall(join(folder, manifestFile), manifestBytesMax);
    writeWhole(join(folder, this.checksumFile), `${this.checksumLine(before)}${this.checksumLine(text)}`);
    writeWhole(join(folder, manifestFile), text);
    writeWhole(join(folder, this.checksumFile), this.checksumLine(text));
  }

  /** A backup that is removed in part is not complete: the manifest goes first. */
  remove(name: string): void {
    if (!this.folders().includes(name)) return;
    const folder = join(this.path, name);
    if (existsSync(join(folder, manifestFile))) {
      rmSync(join(folder, manifestFile));
      syncPath(folder);
    }
    rmSync(folder, { recursive: true, force: true });
  }

  /** Removes what an interrupted merge left: files that the manifest does not name, the hash of the other manifest. */
  removeLeftovers(name: string): void {
    const folder = join(this.path, name);
    const manifest = this.manifest(name);
    const named = new Set(manifest.buckets.map((_, index) => basename(this.dataPath(manifest, index))));
    for (const file of readdirSync(folder))
      if (file.endsWith('.new') || (file.endsWith('.data') && !named.has(file))) rmSync(join(folder, file));
    const line = this.checksumLine(readSmall(join(folder, manifestFile), manifestBytesMax));
    if (readSmall(join(folder, this.checksumFile)).toString() !== line)
      writeWhole(join(folder, this.checksumFile), line);
  }
}

function lockedOrExplained<T>(folder: string, lock: (folder: string) => T): T {
  try {
    return lock(folder);
  } catch (error) {
    if (!(error instanceof FolderInUseError))
      throw new BackupError(`${folder} cannot be locked: ${(error as Error).message}`);
    const { pid, isShared } = error;
    const holder = pid === null ? 'another process' : `process ${pid}`;
    throw new BackupError(`${folder} is in use: ${holder} ${isShared ? 'reads it' : 'writes there'}`, {
      cause: error,
    });
  }
}

/** Years in names have four digits. */
const lastNameMs = Date.UTC(10_000, 0) - 1;
const backupNameOf = (ms: number): string => new Date(ms).toISOString().replaceAll(':', '_');

const mergedFile = (bucket: number, { generation }: MergedBackups): string => `${bucket}.${generation}.data`;

/** The backup that is named by its folder, by `--backup`, or alike by both; undefined: by neither. @throws BackupError if they differ */
export function namedBackup(ofFolder: string | null, given: string | undefined): string | undefined {
  if (ofFolder !== null && given !== undefined && given !== ofFolder)
    throw new BackupError(
      `--backup: the folder is that of backup ${ofFolder}; to choose ${given}, give the folder of all backups`,
    );
  return ofFolder ?? given;
}

/** The repository and, if the path is that of a backup, its name. */
export function findBackup(
  path: string,
  passphrase?: string,
): { repository: Repository; name: string | null } {
  const full = resolve(path);
  if (backupNamePattern.test(basename(full)) && !existsSync(join(full, repositoryFile)))
    return { repository: Repository.open(dirname(full), passphrase), name: basename(full) };
  return { repository: Repository.open(full, passphrase), name: null };
}
