// The folder of a bucket: `files.json` names the generation of each data file. It is replaced atomically (written to a new file,
// synced, renamed, folder synced), so that a crash leaves either the old files or the new ones; a start opens the files it names
// and removes the others.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { counterSuffix } from '#ports/commit-counter.ts';
import { syncPath } from '#ports/sync-path.ts';
import type { BucketFiles } from '../../data/disk-engine.ts';
import { cutLogSuffix } from './cut-log.ts';
import { createDataFile, type DataFileSpec } from './file-format.ts';

const layoutFormat = 1;
const dataFileName = /^data-\d+\.\d+\.db(-wal|-shm|-journal|-commits|-cuts)?$/;

/** The contents of `files.json`. */
interface Layout {
  format: number;
  bucketUuid: string;
  incarnation: number;
  /** `making`: the bucket's first files are not complete yet, and nothing was ever committed. */
  state: 'making' | 'ready';
  /** Generation of each file, by file number. */
  generations: number[];
}

/** The files were made by a flush of the bucket that the caller does not know of. */
export class LaterIncarnationError extends Error {
  override readonly name = 'LaterIncarnationError';

  constructor(present: number, wanted: number) {
    super(`it is of incarnation ${present}, newer than ${wanted}`);
  }
}

export const layoutPath = (folder: string): string => join(folder, 'files.json');

/** Creates or updates the contents of the folder and returns which files to open. */
export function prepareFolder(files: BucketFiles): DataFileSpec[] {
  if (!files.filesExisted) mkdirSync(files.folder, { recursive: true });
  else if (!existsSync(files.folder)) throw new Error('its folder is missing');
  const layout = readLayout(files.folder);
  if (layout === null) return makeFirst(files);
  checkOwner(files, layout);
  if (layout.state === 'making') return makeFirst(files);
  checkLayout(files, layout);
  if (layout.incarnation < files.incarnation) return renewFolder(files);
  const specs = specsOf(files, layout);
  removeOthers(files.folder, specs);
  return specs;
}

/** Switches to empty files of the next generation and removes the others. None of the files may be open. */
export function renewFolder(files: BucketFiles): DataFileSpec[] {
  mkdirSync(files.folder, { recursive: true });
  const present = readLayout(files.folder);
  if (present !== null) checkOwner(files, present);
  const generation = Math.max(0, ...(present?.generations ?? [])) + 1;
  const layout = layoutOf(files, generation);
  const specs = specsOf(files, layout);
  try {
    makeFiles(files.folder, specs);
  } catch {
    // Fails on a full disk, for example. The flush is recorded; the next start completes it.
    removeOthers(files.folder, []);
    makeFiles(files.folder, specs);
  }
  writeLayout(files.folder, layout);
  removeOthers(files.folder, specs);
  return specs;
}

/** Creates the next generation of the file, empty; `files.json` does not name it yet. */
export function makeNextGeneration(spec: DataFileSpec): DataFileSpec {
  const generation = spec.generation + 1;
  const folder = dirname(spec.path);
  const next = { ...spec, generation, path: dataPath(folder, spec.file, generation) };
  try {
    makeFiles(folder, [next]);
  } catch (error) {
    removeDataFile(next.path);
    throw error;
  }
  return next;
}

/** Writes the new layout to disk; `publishLayout` makes it take effect. */
export function stageGeneration(spec: DataFileSpec): void {
  const folder = dirname(spec.path);
  const layout = readLayout(folder);
  if (layout === null) throw new Error('files.json is missing');
  stageLayout(folder, { ...layout, generations: layout.generations.with(spec.file, spec.generation) });
}

export function removeDataFile(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal', counterSuffix, cutLogSuffix])
    rmSync(path + suffix, { force: true });
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  if (existsSync(dirname(folder))) syncPath(dirname(folder));
}

function makeFirst(files: BucketFiles): DataFileSpec[] {
  if (files.filesExisted) throw new Error('its files are missing: the folder is empty');
  const layout = layoutOf(files, 1);
  const specs = specsOf(files, layout);
  writeLayout(files.folder, { ...layout, state: 'making' });
  syncPath(dirname(files.folder));
  makeFiles(files.folder, specs);
  writeLayout(files.folder, layout);
  return specs;
}

function makeFiles(folder: string, specs: readonly DataFileSpec[]): void {
  for (const spec of specs) {
    removeDataFile(spec.path);
    createDataFile(spec);
  }
  syncPath(folder);
}

function layoutOf(files: BucketFiles, generation: number): Layout {
  const { bucketUuid, incarnation, fileCount } = files;
  const generations = Array.from({ length: fileCount }, () => generation);
  return { format: layoutFormat, bucketUuid, incarnation, state: 'ready', generations };
}

const dataPath = (folder: string, file: number, generation: number): string =>
  join(folder, `data-${file}.${generation}.db`);

const specsOf = (files: BucketFiles, layout: Layout): DataFileSpec[] =>
  layout.generations.map((generation, file) => ({
    path: dataPath(files.folder, file, generation),
    bucketUuid: layout.bucketUuid,
    incarnation: layout.incarnation,
    file,
    generation,
    ...(files.lock && { lock: files.lock }),
  }));

/** Null when the folder is new. A folder with data but without `files.json` is not treated as new. */
function readLayout(folder: string): Layout | null {
  if (existsSync(layoutPath(folder))) return parseLayout(readFileSync(layoutPath(folder), 'utf8'));
  if (readdirSync(folder).some((name) => dataFileName.test(name))) {
    throw new Error('files.json is missing, though there are data files');
  }
  return null;
}

function parseLayout(text: string): Layout {
  let layout: Partial<Layout> | null;
  try {
    layout = JSON.parse(text) as Partial<Layout> | null;
  } catch (error) {
    throw new Error('files.json is not JSON', { cause: error });
  }
  if (Number(layout?.format) > layoutFormat) throw new Error('a newer Divan wrote files.json');
  const { crc, ...contents } = { crc: undefined, ...layout };
  if (!isLayout(contents)) throw new Error('files.json is incomplete');
  // Layouts of older versions have no checksum.
  if (crc !== undefined && crc !== checksumOf(contents))
    throw new Error('files.json differs from its checksum');
  const { format, bucketUuid, incarnation, state, generations, ...unknown } = contents;
  if (Object.keys(unknown).length > 0) throw new Error('files.json has an unknown field');
  return { format, bucketUuid, incarnation, state, generations };
}

const checksumOf = (layout: Layout): string => crc32(JSON.stringify(layout)).toString(16);

const isLayout = (layout: Partial<Layout>): layout is Layout =>
  layout.format === layoutFormat &&
  typeof layout.bucketUuid === 'string' &&
  Number.isSafeInteger(layout.incarnation) &&
  (layout.state === 'making' || layout.state === 'ready') &&
  Array.isArray(layout.generations) &&
  layout.generations.every((generation) => Number.isSafeInteger(generation));

function checkOwner(files: BucketFiles, layout: Layout): void {
  if (layout.bucketUuid === files.bucketUuid) return;
  throw new Error(`it belongs to bucket ${layout.bucketUuid}, not ${files.bucketUuid}`);
}

function checkLayout(files: BucketFiles, layout: Layout): void {
  if (layout.generations.length !== files.fileCount) {
    throw new Error(`it names ${layout.generations.length} files, not ${files.fileCount}`);
  }
  if (layout.incarnation > files.incarnation) {
    throw new LaterIncarnationError(layout.incarnation, files.incarnation);
  }
}

function writeLayout(folder: string, layout: Layout): void {
  stageLayout(folder, layout);
  publishLayout(folder);
}

/** Makes the new layout take effect; when this throws, either layout may be in effect. */
export function publishLayout(folder: string): void {
  const path = layoutPath(folder);
  renameSync(`${path}.new`, path);
  syncPath(folder);
}

function stageLayout(folder: string, layout: Layout): void {
  const path = layoutPath(folder);
  const descriptor = openSync(`${path}.new`, 'w', 0o600);
  try {
    writeFileSync(descriptor, `${JSON.stringify({ ...layout, crc: checksumOf(layout) })}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Removes files of other generations, which a crash left. */
function removeOthers(folder: string, specs: readonly DataFileSpec[]): void {
  for (const name of readdirSync(folder)) {
    if (!dataFileName.test(name)) continue;
    const path = join(folder, name);
    if (!specs.some((spec) => path.startsWith(`${spec.path}`))) rmSync(path, { force: true });
  }
}
