// Support bundles as zip files in a folder, and the log files that go into them.
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import type { BundleEntry, BundleFiles, BundleRun } from './bundle-files.ts';
import { centralDirectory, dataDescriptor, localHeader, type ZipEntry } from './zip-format.ts';

const bundlesMax = 5;
const listedFilesMax = 20_000;
const pieceBytes = 256 << 10;
const bundleName = /^collectinfo-.*\.zip(\.part)?$/;

export class FolderBundles implements BundleFiles {
  readonly folder: string;
  readonly #dataFolder: string;

  constructor(dataFolder: string) {
    this.#dataFolder = dataFolder;
    this.folder = join(dataFolder, 'tmp');
  }

  async write(path: string, entries: readonly BundleEntry[], run: BundleRun): Promise<void> {
    if (dirname(path) === this.folder) await this.#makeRoom();
    const temporary = `${path}.part`;
    const file = await open(temporary, 'wx', 0o600);
    try {
      await writeZip(file, entries, run);
      await file.sync();
      await file.close();
      await rename(temporary, path);
    } catch (error) {
      await file.close().catch(() => {});
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async logs(folder: string, prefixes: readonly string[]): Promise<string[]> {
    const names = await readdir(folder).catch(() => []);
    const chosen = names.filter(
      (name) => name.endsWith('.log') && prefixes.some((prefix) => name.startsWith(prefix)),
    );
    const dated = await Promise.all(
      chosen.map(async (name) => {
        const found = await stat(join(folder, name)).catch(() => null); // the node may have removed it since
        return found === null ? [] : [{ name, at: found.mtimeMs }];
      }),
    );
    return dated
      .flat()
      .sort((a, b) => b.at - a.at)
      .map(({ name }) => name);
  }

  async *tail(folder: string, name: string, bytesMax: number): AsyncIterable<string> {
    await using file = await open(join(folder, name));
    const { size } = await file.stat();
    let at = Math.max(size - bytesMax, 0);
    let isWhole = at === 0;
    let incompleteLine = Buffer.alloc(0);
    while (at < size) {
      const piece = Buffer.alloc(Math.min(pieceBytes, size - at));
      const { bytesRead } = await file.read(piece, 0, piece.length, at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const read = Buffer.concat([incompleteLine, piece.subarray(0, bytesRead)]);
      const end = read.lastIndexOf(10) + 1;
      const start = isWhole ? 0 : read.indexOf(10) + 1;
      isWhole ||= start > 0;
      incompleteLine = read.subarray(end);
      if (end > start) yield read.toString('utf8', start, end);
    }
    if (isWhole && incompleteLine.length > 0) yield `${incompleteLine.toString()}\n`;
  }

  async sizes(): Promise<Record<string, number>> {
    const sizes: Record<string, number> = {};
    const all = await readdir(this.#dataFolder, { recursive: true, withFileTypes: true });
    for (const entry of all.filter((candidate) => candidate.isFile()).slice(0, listedFilesMax)) {
      const path = join(entry.parentPath, entry.name);
      const found = await stat(path).catch(() => null);
      if (found) sizes[relative(this.#dataFolder, path)] = found.size;
    }
    return sizes;
  }

  async #makeRoom(): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const bundles = (await readdir(this.folder)).filter((name) => bundleName.test(name)).sort();
    for (const name of bundles.slice(0, Math.max(bundles.length - bundlesMax + 1, 0)))
      await rm(join(this.folder, name));
  }
}

async function writeZip(file: FileHandle, entries: readonly BundleEntry[], run: BundleRun): Promise<void> {
  const written: ZipEntry[] = [];
  let offset = 0;
  const put = async (bytes: Buffer) => {
    run.signal.throwIfAborted();
    await file.writeFile(bytes);
    offset += bytes.length;
  };
  for (const entry of entries) {
    const start = offset;
    await put(localHeader(entry.name));
    const sums = { crc: 0, bytes: 0 };
    const before = offset;
    const deflate = Readable.from(summed(entry, sums)).compose(createDeflateRaw(), { signal: run.signal });
    for await (const packed of deflate) await put(packed as Buffer);
    const sizes = { ...sums, packedBytes: offset - before };
    await put(dataDescriptor(sizes));
    written.push({ name: entry.name, offset: start, ...sizes });
    run.entryWritten();
  }
  await put(centralDirectory(written, offset));
}

async function* summed(entry: BundleEntry, sums: { crc: number; bytes: number }): AsyncIterable<Buffer> {
  for await (const piece of entry.pieces()) {
    const bytes = Buffer.from(piece);
    sums.crc = crc32(bytes, sums.crc);
    sums.bytes += bytes.length;
    yield bytes;
  }
}
