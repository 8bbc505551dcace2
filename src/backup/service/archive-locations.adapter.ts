// Where archives may be: absolute paths below the folders that the administrator allowed at the start of the node. No symbolic link may
// lead out of them. A folder on a network mount may not answer, so every access has a deadline.
import { lstat, mkdir, readdir, realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import { historySuffix } from './task-history.adapter.ts';

/** Says what is wrong with a location. */
export class LocationError extends Error {}

const answerTimeoutMs = 10_000;
/** Below PATH_MAX of Linux (4,096), for the names of files in the archive. */
const pathBytesMax = 4_000;
const repositoryFile = 'repository.json';

export class ArchiveLocations {
  readonly #roots: readonly string[];
  readonly #clock: Clock;

  constructor(roots: readonly string[], clock: Clock) {
    this.#roots = roots.map((root) => resolve(root));
    this.#clock = clock;
  }

  /** Makes the folder of a new archive. @throws LocationError unless it is missing, empty, or has only what this service writes */
  async create(archive: string): Promise<void> {
    const root = this.#rootOf(archive);
    await this.#beforeDeadline(archive, async () => {
      await mkdir(root, { recursive: true, mode: 0o700 });
      await checkInside(root, archive);
      await mkdir(archive, { recursive: true, mode: 0o700 });
      await checkInside(root, archive);
      for (const name of await readdir(archive)) {
        if (name.endsWith(historySuffix) || (await isRepository(join(archive, name)))) continue;
        throw new LocationError(`${archive} has other files, such as ${name}: give an empty folder`);
      }
    });
  }

  /** Call before each task: since the last one a link may have taken the place of the folder. @throws LocationError */
  async check(archive: string, repo: string): Promise<void> {
    const root = this.#rootOf(archive);
    await this.#beforeDeadline(archive, async () => {
      await checkInside(root, archive);
      await checkInside(root, join(archive, repo));
      if (!(await stat(archive)).isDirectory()) throw new LocationError(`${archive} is not a folder`);
    });
  }

  /** @throws LocationError unless there is a repository */
  async checkRepository(archive: string, repo: string): Promise<void> {
    await this.check(archive, repo);
    const path = join(archive, repo);
    if (!(await this.#beforeDeadline(archive, () => isRepository(path))))
      throw new LocationError(`${path} is not a repository of backups: it has no ${repositoryFile}`);
  }

  /** Whether a backup was made there. */
  hasRepository(archive: string, repo: string): Promise<boolean> {
    return this.#beforeDeadline(archive, () => isRepository(join(archive, repo)));
  }

  async freeBytes(archive: string): Promise<number> {
    const { bavail, bsize } = await this.#beforeDeadline(archive, () => statfs(archive));
    return bavail * bsize;
  }

  /** The root folder that contains the archive. @throws LocationError for a text that is not a path, or a path outside of all roots */
  #rootOf(archive: string): string {
    const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(archive)?.[1];
    if (scheme !== undefined)
      throw new LocationError(
        `no object store is configured, so ${scheme}:// cannot be used: give a folder below ${this.#roots.join(' or ')}`,
      );
    if (archive.includes('\0') || Buffer.byteLength(archive) > pathBytesMax)
      throw new LocationError(`the path must have at most ${pathBytesMax} bytes, and none of them may be 0`);
    if (!isAbsolute(archive) || (resolve(archive) !== archive && `${resolve(archive)}${sep}` !== archive))
      throw new LocationError(`"${archive}" is not an absolute path without ".." and empty parts`);
    const root = this.#roots.find((allowed) => isBelow(resolve(archive), allowed));
    if (root !== undefined) return root;
    throw new LocationError(
      `${archive} is not below ${this.#roots.join(' or ')}; the option --backup-root of the node allows other folders`,
    );
  }

  async #beforeDeadline<T>(archive: string, ask: () => Promise<T>): Promise<T> {
    const timeoutError = () => new LocationError(`${archive} did not answer in ${answerTimeoutMs / 1_000} s`);
    try {
      return await within(this.#clock, answerTimeoutMs, ask(), timeoutError);
    } catch (error) {
      if (error instanceof LocationError) throw error;
      throw new LocationError(`${archive}: ${(error as Error).message}`);
    }
  }
}

const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

/** Resolves the symbolic links in the part of the path that exists. */
async function checkInside(root: string, path: string): Promise<void> {
  const realRoot = await realpath(root);
  let existing = path;
  while (!(await exists(existing))) existing = dirname(existing);
  const real = await realpath(existing);
  const isMissingInRoot = real === realRoot && existing !== path;
  if (!isMissingInRoot && !isBelow(real, realRoot))
    throw new LocationError(`${path} leads to ${real}, which is not below ${root}`);
}

async function exists(path: string): Promise<boolean> {
  if (dirname(path) === path) return true;
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function isRepository(path: string): Promise<boolean> {
  if (basename(path).startsWith('.')) return false;
  try {
    return (await lstat(path)).isDirectory() && (await lstat(join(path, repositoryFile))).isFile();
  } catch {
    return false;
  }
}
