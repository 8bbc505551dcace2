// The store's folder on a real file system. All calls are asynchronous.
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlockFile, LogFile, StoreFiles } from './files.ts';

const temporarySuffix = '.tmp';
const ownerOnly = 0o600;

export class FolderStoreFiles implements StoreFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async list(): Promise<{ name: string; bytes: number }[]> {
    // Not recursive: if the data folder was moved away, it must not be created again.
    for (const folder of [dirname(this.#folder), this.#folder]) await makeFolder(folder);
    const files: { name: string; bytes: number }[] = [];
    for (const name of await readdir(this.#folder)) {
      if (name.endsWith(temporarySuffix)) await this.remove(name);
      else files.push({ name, bytes: (await stat(this.#path(name))).size });
    }
    return files;
  }

  async write(name: string, parts: readonly Buffer[]): Promise<void> {
    const temporary = this.#path(name + temporarySuffix);
    try {
      await writeWhole(temporary, parts);
      await rename(temporary, this.#path(name));
    } catch (error) {
      // On a full disk a partial file would only take space.
      await rm(temporary, { force: true }).catch(() => {});
      throw error;
    }
    await this.#syncFolder();
  }

  async open(name: string): Promise<BlockFile> {
    const file = await open(this.#path(name), 'r');
    return {
      async read(offset, length) {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
      close: () => file.close(),
    };
  }

  readAll(name: string): Promise<Buffer> {
    return readFile(this.#path(name));
  }

  async openLog(name: string, bytes: number): Promise<LogFile> {
    const file = await open(this.#path(name), constants.O_RDWR | constants.O_CREAT, ownerOnly);
    try {
      await file.truncate(bytes);
      await this.#syncFolder();
    } catch (error) {
      await file.close();
      throw error;
    }
    let offset = bytes;
    return {
      async append(added) {
        const { bytesWritten } = await file.write(added, 0, added.length, offset);
        // A full disk may accept a part of the record: the next record overwrites it.
        if (bytesWritten < added.length) throw new Error('the record was written only in part');
        offset += bytesWritten;
        await file.datasync();
      },
      close: () => file.close(),
    };
  }

  async remove(name: string): Promise<void> {
    await rm(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  async #syncFolder(): Promise<void> {
    const folder = await open(this.#folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/** A full disk may write only a part without an error. */
async function writeWhole(path: string, parts: readonly Buffer[]): Promise<void> {
  const file = await open(path, 'w', ownerOnly);
  try {
    const { bytesWritten } = await file.writev(parts);
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytesWritten < bytes) throw new Error(`the disk wrote only ${bytesWritten} of ${bytes} bytes`);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
