// The row of table `vb`: a vbucket's state with a checksum; conversion from cuts to SQLite and back.
import { crc32 } from 'node:zlib';
import type { CutState } from '#kv/data/cut.ts';
import type { VbucketRecord } from '../data/disk-engine.ts';
import { CopyPhase } from '../data/vbucket-state.ts';

/** Values that node:sqlite binds. */
type Bound = number | Uint8Array;

/** The columns in the order of `sql.putVb`. */
export function vbRow(state: CutState): Bound[] {
  const maxCas = Buffer.allocUnsafe(8);
  maxCas.writeUInt32BE(state.maxCasHi, 0);
  maxCas.writeUInt32BE(state.maxCasLo, 4);
  const maxDeletedRev = Buffer.alloc(8);
  maxDeletedRev.writeUIntBE(state.maxDeletedRev, 2, 6);
  const { vb, endSeqno, purgeSeqno, failover, manifestUid, items, deleted } = state;
  const { snapStart, snapEnd, copy, epoch } = state;
  const numbers = [vb, endSeqno, purgeSeqno, manifestUid, items, deleted, snapStart, snapEnd, copy, epoch];
  const checksum = checksumOf(numbers, [maxCas, maxDeletedRev, failover]);
  return [
    vb,
    endSeqno,
    endSeqno,
    purgeSeqno,
    snapStart,
    snapEnd,
    maxCas,
    maxDeletedRev,
    failover,
    manifestUid,
    items,
    deleted,
    copy,
    epoch,
    checksum,
  ];
}

/** Reads a row of `sql.vbucketsFrom`; null when its checksum is wrong. Rows of format 1 have no epoch, and their checksum covers fewer columns. */
export function readVbRow(row: readonly unknown[]): VbucketRecord | null {
  const [vb, high, purge, maxCas, maxDeletedRev, failover, manifestUid, items, deleted, checksum] = row;
  const isOlder = row[13] === null;
  const [snapStart, snapEnd, copy, epoch] = isOlder ? [high, high, CopyPhase.following, 0] : row.slice(10);
  const checked = [vb, high, purge, manifestUid, items, deleted];
  const numbers = [...checked, snapStart, snapEnd, copy, epoch];
  const blobs = [maxCas, maxDeletedRev, failover];
  if (!numbers.every(isCount) || !blobs.every(isBytes)) return null;
  if (checksumOf(isOlder ? (checked as number[]) : numbers, blobs) !== checksum) return null;
  const [cas, rev, entries] = blobs as [Uint8Array, Uint8Array, Uint8Array];
  return {
    vb: numbers[0] as number,
    highSeqno: numbers[1] as number,
    maxCas: cas,
    purgeSeqno: numbers[2] as number,
    maxDeletedRev: asBuffer(rev).readUIntBE(2, 6),
    failover: entries,
    manifestUid: numbers[3] as number,
    items: numbers[4] as number,
    deleted: numbers[5] as number,
    snapStart: numbers[6] as number,
    snapEnd: numbers[7] as number,
    copy: numbers[8] as number,
    epoch: numbers[9] as number,
  };
}

/** The state of a vbucket that was read from disk, in the form that cuts have. */
export function stateOf(record: VbucketRecord): CutState {
  const maxCas = asBuffer(record.maxCas);
  return {
    vb: record.vb,
    startSeqno: 0,
    endSeqno: record.highSeqno,
    maxCasHi: maxCas.readUInt32BE(0),
    maxCasLo: maxCas.readUInt32BE(4),
    maxDeletedRev: record.maxDeletedRev,
    purgeSeqno: record.purgeSeqno,
    manifestUid: record.manifestUid,
    items: record.items,
    deleted: record.deleted,
    snapStart: record.snapStart,
    snapEnd: record.snapEnd,
    copy: record.copy,
    epoch: record.epoch,
    failover: record.failover,
  };
}

/** The record of a vbucket after the commit of a cut with this state. */
export function recordOf(state: CutState): VbucketRecord {
  const maxCas = Buffer.alloc(8);
  maxCas.writeUInt32BE(state.maxCasHi, 0);
  maxCas.writeUInt32BE(state.maxCasLo, 4);
  return {
    vb: state.vb,
    highSeqno: state.endSeqno,
    maxCas,
    purgeSeqno: state.purgeSeqno,
    maxDeletedRev: state.maxDeletedRev,
    failover: Uint8Array.from(state.failover),
    manifestUid: state.manifestUid,
    items: state.items,
    deleted: state.deleted,
    snapStart: state.snapStart,
    snapEnd: state.snapEnd,
    copy: state.copy,
    epoch: state.epoch,
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function checksumOf(numbers: readonly number[], blobs: readonly Uint8Array[]): number {
  const start = crc32(Buffer.from(Float64Array.from(numbers).buffer));
  return blobs.reduce((sum, blob) => crc32(blob, sum), start);
}
