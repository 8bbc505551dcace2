// Fills a bucket's memory from its files and gives its vbuckets their history. A file that can't be read to its end
// is not served, the others are.
import type { Random } from '#ports/random.ts';
import {
  type BucketFiles,
  type DamagedFile,
  DamagedFileError,
  type DiskEngine,
  fileOf,
  type OpenedFile,
  type OpenResult,
  type VbucketRecord,
} from '../disk/engine.ts';
import { raiseCas } from '../vbucket/cas-clock.ts';
import type { Loader } from '../vbucket/loader.ts';
import type { Vbuckets } from '../vbucket/vbuckets.ts';

/** After a crash CAS values may have been given out that no file tells of: stay above any of them. */
const casJumpAfterCrash = 2 ** 24;

/** What `open` found, and where it goes. */
export interface WarmUpOptions extends OpenResult {
  disk: DiskEngine;
  files: BucketFiles;
  vbuckets: Vbuckets;
  loader: Loader;
  random: Random;
}

export interface WarmUpResult {
  damaged: DamagedFile[];
  /** Vbuckets whose file is good. */
  readable: number[];
  /** Those that went on after a crash, in a new life that their file must tell of before they are served. */
  changed: number[];
}

export async function warmUp(options: WarmUpOptions): Promise<WarmUpResult> {
  const { opened, damaged } = options;
  const result: WarmUpResult = { damaged: [...damaged], readable: [], changed: [] };
  await Promise.all(opened.map((file) => warmUpFile(options, file, result)));
  return result;
}

async function warmUpFile(options: WarmUpOptions, file: OpenedFile, result: WarmUpResult): Promise<void> {
  const { disk, files, loader, vbuckets } = options;
  const rows = Array.from({ length: vbuckets.rows.count }, (_, row) => row);
  const mine = rows.filter((row) => fileOf(row, files.fileCount) === file.file);
  const records = new Map(file.vbuckets.map((record) => [record.vb, record]));
  const changed = mine.filter((row) => restoreState(options, row, records.get(row), file.clean));
  try {
    await disk.load(files.bucketUuid, file.file, (batch) => loader.load(batch));
  } catch (error) {
    for (const row of mine) vbuckets.drop(row);
    if (!(error instanceof DamagedFileError)) throw error;
    result.damaged.push({ file: error.file, path: error.path, reason: error.reason });
    return;
  }
  result.readable.push(...mine);
  result.changed.push(...changed);
}

/**
 * Answers whether the file must learn of a new life. That of a vbucket without a record needs no writing down: its
 * first cut carries it, and before that nothing happened that a client could hold against us.
 */
function restoreState(
  options: WarmUpOptions,
  row: number,
  record: VbucketRecord | undefined,
  isClean: boolean,
): boolean {
  const { random, vbuckets } = options;
  if (record) restoreRecord(vbuckets, record, isClean ? 0 : casJumpAfterCrash);
  const isNew = !record || record.failover.length === 0;
  if (!isNew && isClean) return false;
  beginLife(vbuckets, row, random);
  return !isNew;
}

/** A new entry in the failover log, at the vbucket's high seqno. */
export function beginLife(vbuckets: Vbuckets, row: number, random: Random): void {
  const uuid = random.bytes(8);
  const seqno = vbuckets.rows.highSeqno[row] as number;
  vbuckets.failovers.push(row, { uuidHi: uuid.readUInt32BE(0), uuidLo: uuid.readUInt32BE(4), seqno });
}

function restoreRecord(vbuckets: Vbuckets, record: VbucketRecord, casJump: number): void {
  const { rows } = vbuckets;
  const row = record.vb;
  rows.highSeqno[row] = rows.cutSeqno[row] = rows.persistedSeqno[row] = record.highSeqno;
  rows.purgeSeqno[row] = record.purgeSeqno;
  rows.maxDeletedRev[row] = record.maxDeletedRev;
  const cas = new DataView(record.maxCas.buffer, record.maxCas.byteOffset, record.maxCas.byteLength);
  raiseCas(rows, row, { hi: cas.getUint32(0), lo: cas.getUint32(4), extra: casJump });
  vbuckets.failovers.decode(row, record.failover);
}
