// Temporary files of sorts, groups and joins that exceed memory: in one folder that each start empties, with a bound on their total.
import { mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ScratchFile } from '#sqlpp/run/engine.ts';

export class ScratchFiles {
  private readonly folder: string;
  private readonly bytesMax: () => number;
  private bytes = 0;
  private lastName = 0;
  private isReady = false;

  constructor(folder: string, bytesMax: () => number) {
    this.folder = folder;
    this.bytesMax = bytesMax;
  }

  async open(): Promise<ScratchFile> {
    this.prepare();
    const path = join(this.folder, `${++this.lastName}.tmp`);
    const handle = await open(path, 'wx+', 0o600);
    // An unlinked file is unreadable for others, and the system frees it with the process.
    await rm(path);
    return this.fileOf(handle);
  }

  private prepare(): void {
    if (this.isReady) return;
    rmSync(this.folder, { recursive: true, force: true });
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.isReady = true;
  }

  private fileOf(handle: FileHandle): ScratchFile {
    let end = 0;
    return {
      append: async (bytes) => {
        if (this.bytes + bytes.length > this.bytesMax())
          throw sqlError(5015, 'The space for temporary files of queries (queryTmpSpaceSize) is used up');
        this.bytes += bytes.length;
        const offset = end;
        end += bytes.length;
        await writeWhole(handle, bytes, offset);
        return { offset, length: bytes.length };
      },
      read: async ({ offset, length }) => {
        const bytes = Buffer.allocUnsafe(length);
        const { bytesRead } = await handle.read(bytes, 0, length, offset);
        return bytes.subarray(0, bytesRead);
      },
      close: async () => {
        this.bytes -= end;
        end = 0;
        await handle.close();
      },
    };
  }
}

/** On a nearly full disk the system writes a part at first, and refuses only the rest. */
async function writeWhole(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  try {
    for (let at = 0; at < bytes.length; )
      at += (await handle.write(bytes, at, bytes.length - at, offset + at)).bytesWritten;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw sqlError(5015, 'The disk has no space for temporary files of queries: free some space on it');
  }
}
