// Range scans: all documents between two keys of a collection in one vbucket, or a sample of them. The scan lists its keys when it is
// created; each document is read when it is returned.
import { writeU64 } from '#wire/bytes.ts';
import { collectionIdBytes, writeCollectionId as writeLeb128 } from '#wire/collection-id.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { type DocumentResult, type ItemView, notResident, type StoredDocument } from '../data/documents.ts';
import { holdFrame, orderOf } from '../dispatch/delayed-reply.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { clientCasHi, clientCasLo, durationOf, replyValue } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import {
  clearReadAhead,
  keepReadAhead,
  type Scan,
  type ScannedKeys,
  type ScanProgress,
  type Scans,
} from '../served/scans.ts';
import { isInRange, readScanPlan, type ScanPlan } from './scan-plan.ts';
import { bodyOf, plainValue } from './values.ts';

const idBytes = 16;
const planBytesMax = 8 * 1024;
/** At most about this many bytes are returned by one RANGE_SCAN_CONTINUE, within at most about this time; the client then continues again. */
const batchBytes = 2 * 1024 * 1024;
const batchTimeMaxMs = 5;
/** Documents that are read from disk together. */
const readAheadMax = 64;
/** Work of listing the keys, in bytes: so much that the turn reads its clock afterwards. */
const listWorkBytes = 64 * 1024;

/** RANGE_SCAN_CREATE. */
export function createScan(request: Request): CommandResult {
  const { frame, bucket, documents } = request;
  if ((frame.datatype & Datatype.json) === 0 || frame.end - frame.valueStart > planBytesMax)
    return request.refuse(
      Status.invalidArguments,
      'The value must be JSON of at most 8 KiB, with the JSON datatype',
    );
  const plan = readScanPlan(frame.buffer.toString('utf8', frame.valueStart, frame.end));
  if (typeof plan === 'string') return request.refuse(Status.invalidArguments, plan);
  if (bucket.spec.type === 'cache') return Status.notSupported;
  const refusal = checkAccess(request, plan.collection, plan.withXattrs);
  if (refusal !== Status.success) return refusal;
  if (!documents.isActive(frame.vb)) return Status.notMyVbucket;
  const status = checkSnapshot(request, plan);
  return status === Status.success ? makeScan(request, plan) : status;
}

function checkAccess(request: Request, collection: number, withXattrs: boolean): Status {
  const bits = request.session.access?.bitsOf(collection) ?? 0;
  if (bits === 0) return request.refuse(Status.unknownCollection, 'Unknown collection');
  const needed = Privilege.rangeScan | (withXattrs ? Privilege.systemXattrRead : 0);
  return (bits & needed) === needed ? Status.success : refuseMissing(request, needed & ~bits);
}

function checkSnapshot({ frame, bucket, documents }: Request, { snapshot }: ScanPlan): Status {
  if (snapshot === null) return Status.success;
  const uuid = (BigInt(bucket.uuidHi(frame.vb)) << 32n) + BigInt(bucket.uuidLo(frame.vb));
  if (uuid !== snapshot.vbUuid) return Status.vbUuidNotEqual;
  // Memory contains every change, so the requested snapshot cannot become available later.
  return snapshot.seqno > documents.highSeqno(frame.vb) ? Status.outOfRange : Status.success;
}

function makeScan(request: Request, plan: ScanPlan): CommandResult {
  const { bucket, connection, environment, frame, output } = request;
  const nowMs = environment.clock.monotonicMs();
  const bytesMax = bucket.scans.room(nowMs);
  if (bytesMax === 0 || !bucket.engine) return Status.busy;
  const { collection, keyOnly, withXattrs, range } = plan;
  const id = environment.random.bytes(idBytes);
  const scan = bucket.scans.add({ id, vb: frame.vb, collection, keyOnly, withXattrs }, nowMs);
  let status = null as Status | null;
  let finish = (now: Status): void => void (status = now);
  const at = collectionIdBytes(collection);
  const accepts = (buffer: Buffer, start: number, end: number): boolean =>
    range === null || isInRange(range, buffer, start + at, end);
  const seqno = plan.snapshot?.mustExist ? plan.snapshot.seqno : 0;
  const { sampling } = plan;
  const query = { vb: frame.vb, collection, accepts, seqno, bytesMax, countMax: Infinity, sampling };
  request.workBytes += listWorkBytes;
  bucket.engine.keys.list(query, (keys) => finish(useKeys(bucket.scans, scan, keys)));
  if (status !== null && status !== Status.success) return status;
  const from = output.end;
  replyValue(request, scan.id);
  if (status !== null) return Outcome.replied;
  const bytes = Buffer.from(output.buffer.subarray(from, output.end));
  output.end = from;
  const heldReply = connection.holdReply(request, orderOf(request), bytes);
  finish = (finalStatus) => heldReply.resolve(finalStatus);
  return Outcome.later;
}

function useKeys(scans: Scans, scan: Scan, keys: ScannedKeys | Status): Status {
  const isEmpty = typeof keys !== 'number' && keys.length === 0;
  if (typeof keys === 'number' || isEmpty) {
    scans.remove(scan);
    return typeof keys === 'number' ? keys : Status.keyNotFound;
  }
  return scans.fill(scan, keys) ? Status.success : Status.busy;
}

/** RANGE_SCAN_CONTINUE. */
export function continueScan(request: Request): CommandResult {
  const scan = findScan(request);
  if (!scan) return request.resumed ? Status.rangeScanCancelled : Status.keyNotFound;
  const refusal = checkAccess(request, scan.collection, scan.withXattrs);
  if (refusal !== Status.success) return refusal;
  if (request.resumed !== null) {
    if (scan.progress?.waiting !== request.resumed) return Status.rangeScanCancelled;
  } else if (isWaiting(scan.progress)) return Status.busy;
  else scan.progress = null;
  scan.progress ??= progressOf(request);
  return returnBatch(request, scan, scan.progress);
}

/** A request that was resumed and refused, for lack of a privilege for example, waits no longer. */
const isWaiting = (progress: ScanProgress | null): boolean =>
  progress !== null && !progress.connection.isGone && progress.waiting?.status === null;

function progressOf({ connection, environment, frame }: Request): ScanProgress {
  const timeMs = frame.buffer.readUInt32BE(frame.extrasStart + idBytes + 4) || batchTimeMaxMs;
  const untilMs = environment.clock.monotonicMs() + Math.min(timeMs, batchTimeMaxMs);
  return { visited: 0, items: 0, bytes: 0, untilMs, connection, waiting: null };
}

/** RANGE_SCAN_CANCEL. */
export function cancelScan(request: Request): CommandResult {
  const scan = findScan(request);
  if (!scan) return Status.keyNotFound;
  const refusal = checkAccess(request, scan.collection, false);
  if (refusal !== Status.success) return refusal;
  request.bucket.scans.remove(scan);
  return Status.success;
}

function findScan({ bucket, environment, frame }: Request): Scan | undefined {
  const id = frame.buffer.toString('hex', frame.extrasStart, frame.extrasStart + idBytes);
  const scan = bucket.scans.find(id, environment.clock.monotonicMs());
  return scan?.vb === frame.vb ? scan : undefined;
}

function returnBatch(request: Request, scan: Scan, progress: ScanProgress): CommandResult {
  const parts: Buffer[] = [];
  while (scan.next < scan.keys.length && !isBatchFull(request, progress)) {
    const item = itemAt(request, scan, scan.next);
    if (item === notResident) return readAhead(request, scan, parts);
    scan.next++;
    progress.visited++;
    if (typeof item === 'number') return endScan(request, scan, item);
    if (item === null) continue;
    progress.items++;
    progress.bytes += item.length;
    parts.push(item);
  }
  scan.progress = null;
  clearReadAhead(scan);
  const isComplete = scan.next >= scan.keys.length;
  if (isComplete) request.bucket.scans.remove(scan);
  replyPart(request, scan, isComplete ? Status.rangeScanComplete : Status.rangeScanMore, parts);
  return Outcome.replied;
}

function isBatchFull({ frame, environment }: Request, progress: ScanProgress): boolean {
  const { buffer, extrasStart } = frame;
  // Deleted documents take time too.
  if (progress.visited === 0) return false;
  const itemLimit = buffer.readUInt32BE(extrasStart + idBytes) || Infinity;
  const byteLimit = buffer.readUInt32BE(extrasStart + idBytes + 8) || Infinity;
  if (progress.items >= itemLimit || progress.bytes >= Math.min(byteLimit, batchBytes)) return true;
  return environment.clock.monotonicMs() >= progress.untilMs;
}

/** The encoded item, null if the document is deleted, or an error. Memory has priority over what was read ahead from disk. */
function itemAt(request: Request, scan: Scan, index: number): Buffer | null | CommandResult {
  const status = findKey(request, scan, index);
  if (status === Status.success) return itemOf(withClientCas(request.view), scan);
  if (status === Status.keyNotFound) return null;
  const read = status === notResident ? scan.ahead.get(index) : undefined;
  return read === undefined ? status : read;
}

/** The CAS of a lock is for the client that locks the document. */
function withClientCas(view: ItemView): ItemView {
  const [casHi, casLo] = [clientCasHi(view), clientCasLo(view)];
  view.casHi = casHi;
  view.casLo = casLo;
  return view;
}

function findKey({ documents, view }: Request, scan: Scan, index: number): DocumentResult {
  const key = scan.keys.at(index);
  if (!scan.keyOnly) return documents.find(scan.vb, key, 0, key.length, view);
  const status = documents.findMeta(scan.vb, key, 0, key.length, view);
  return status === Status.success && view.isDeleted ? Status.keyNotFound : status;
}

function endScan({ bucket }: Request, scan: Scan, status: CommandResult): CommandResult {
  bucket.scans.remove(scan);
  return status;
}

/** Sends the items that are ready and continues the scan once the next items are read from disk. */
function readAhead(request: Request, scan: Scan, parts: Buffer[]): Outcome {
  const { documents } = request;
  const heldReply = holdFrame(request, orderOf(request));
  if (scan.progress !== null) scan.progress.waiting = heldReply;
  clearReadAhead(scan);
  const read = (index: number, finish: (status: Status) => void): void =>
    documents.readStored((found) => {
      const isRead = typeof found !== 'number';
      if (isRead) keepReadAhead(scan, index, found && itemOf(found, scan));
      finish(isRead ? Status.success : found);
    });
  read(scan.next, (status) => heldReply.resolve(status));
  const end = Math.min(scan.next + readAheadMax, scan.keys.length);
  for (let index = scan.next + 1; index < end; index++)
    if (findKey(request, scan, index) === notResident) read(index, () => {});
  if (parts.length > 0) replyPart(request, scan, Status.success, parts);
  return Outcome.later;
}

function replyPart(request: Request, scan: Scan, status: Status, parts: readonly Buffer[]): void {
  const { frame, output } = request;
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  const { opcode, opaque } = frame;
  let at = output.reply(opcode, opaque, status, durationOf(request), 4, 0, bytes, 0, 0, 0);
  at = output.buffer.writeUInt32BE(scan.keyOnly ? 0 : 1, at);
  for (const part of parts) at += part.copy(output.buffer, at);
}

const metaBytes = 25;

function itemOf(view: StoredDocument, scan: Scan): Buffer {
  const key = view.buffer.subarray(view.keyStart + collectionIdBytes(scan.collection), view.keyEnd);
  return scan.keyOnly ? withLength(key) : documentOf(view, scan, key);
}

function documentOf(view: StoredDocument, { withXattrs }: Scan, key: Buffer): Buffer {
  const value = plainValue(view);
  const start = withXattrs ? value.start : bodyOf(view, value);
  const meta = Buffer.alloc(metaBytes);
  meta.writeUInt32BE(view.flags);
  meta.writeUInt32BE(view.expiry, 4);
  writeU64(meta, 8, view.seqno);
  meta.writeUInt32BE(view.casHi, 16);
  meta.writeUInt32BE(view.casLo, 20);
  meta[24] = view.datatype & (withXattrs ? Datatype.json | Datatype.xattr : Datatype.json);
  return Buffer.concat([meta, withLength(key), withLength(value.buffer.subarray(start, value.end))]);
}

function withLength(bytes: Buffer): Buffer {
  const at = collectionIdBytes(bytes.length);
  const framed = Buffer.alloc(at + bytes.length);
  writeLeb128(framed, 0, bytes.length);
  bytes.copy(framed, at);
  return framed;
}
