// Reads all documents (or keys) of a collection in one vbucket in pages.
import { type Deferred, deferred } from '#base/deferred.ts';
import { keyBytesMax } from '#wire/collection-id.ts';
import { RangeScanCancel, RangeScanContinue, RangeScanCreate } from '#wire/commands/bucket.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import { Datatype, Status } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { DataPortError, StatusError } from './data-port-error.ts';
import type { RequestSender } from './wire-connection.adapter.ts';

export interface ScannedDocument {
  key: string;
  /** Empty in a scan of keys. */
  value: Buffer;
  /** The section of extended attributes in front of the body, with its length; empty without. */
  xattrs: Buffer;
  isJson: boolean;
  cas: bigint;
  flags: number;
  expiry: number;
}

export interface RangeScan {
  vb: number;
  collectionId: number;
  keysOnly: boolean;
  withXattrs: boolean;
}

const idBytes = 16;
const pageBytes = 1 << 20;
/** Flags, expiry, seqno, CAS and datatype in front of a document. */
const metaBytes = 25;
const nothing = Buffer.alloc(0);

/** The least key, and the greatest: keys need not be UTF-8. */
const firstBound = Buffer.from([0]).toString('base64');
const lastBound = Buffer.alloc(keyBytesMax.inDefault, 0xff).toString('base64');

/** `next` reads the next page; null at the end. Call `cancel` to stop early. */
export class RangeScanner {
  private readonly connection: RequestSender;
  private readonly scan: RangeScan;
  private id: Buffer | null = null;
  private isDone = false;
  private isCancelled = false;
  /** The last key of the pages that `next` returned; null: none. */
  private lastKey: Buffer | null = null;

  constructor(connection: RequestSender, scan: RangeScan) {
    this.connection = connection;
    this.scan = scan;
  }

  /**
   * @throws StatusError unknownCollection when the collection is gone, busy when there are too many scans
   * @throws DataPortError when the connection ends
   */
  async next(): Promise<ScannedDocument[] | null> {
    if (this.isDone || this.isCancelled) return null;
    if (this.id === null && !(await this.create())) return null;
    return this.page(this.id as unknown as Buffer);
  }

  /** Call after a failure of `next`: the next page is that of a new scan, of the keys after those of the last page. */
  resume(): void {
    this.id = null;
    this.isDone = false;
  }

  /** Also works while the scan is being created. */
  cancel(): void {
    const { id, isDone } = this;
    this.isCancelled = true;
    if (id === null || isDone) return;
    this.isDone = true;
    this.connection.send({ opcode: RangeScanCancel.opcode, vb: this.scan.vb, extras: id }, () => true);
  }

  /** False if the vbucket has no documents of the collection. */
  private async create(): Promise<boolean> {
    const { vb, collectionId, keysOnly, withXattrs } = this.scan;
    const start =
      this.lastKey === null ? { start: firstBound } : { excl_start: this.lastKey.toString('base64') };
    const plan = {
      collection: collectionId.toString(16),
      key_only: keysOnly,
      include_xattrs: withXattrs,
      range: { ...start, end: lastBound },
    };
    const reply = await this.connection.request({
      opcode: RangeScanCreate.opcode,
      datatype: Datatype.json,
      vb,
      value: Buffer.from(JSON.stringify(plan)),
    });
    this.id = reply.status === Status.success ? reply.value : null;
    this.isDone = this.id === null;
    if (this.isCancelled) this.cancel();
    if (reply.status === Status.success || reply.status === Status.keyNotFound) return !this.isDone;
    throw new StatusError(RangeScanCreate.opcode, reply.status);
  }

  private page(id: Buffer): Promise<ScannedDocument[]> {
    const extras = Buffer.alloc(idBytes + 12);
    id.copy(extras);
    extras.writeUInt32BE(pageBytes, idBytes + 8);
    const page: Page = { documents: [], lastKey: this.lastKey, reply: deferred() };
    const request = { opcode: RangeScanContinue.opcode, vb: this.scan.vb, extras };
    this.connection.send(request, (frame) => this.receiveFrame(frame, page));
    return page.reply.promise;
  }

  private receiveFrame(frame: Frame | null, page: Page): boolean {
    if (frame === null) {
      page.reply.reject(new DataPortError('the connection to the data port ended during a scan'));
      return true;
    }
    const status = responseStatus(frame);
    const isOver = status !== Status.success && status !== Status.rangeScanMore;
    if (isOver) this.isDone = true;
    if (isOver && status !== Status.rangeScanComplete) {
      page.reply.reject(new StatusError(RangeScanContinue.opcode, status));
      return true;
    }
    if (!this.decode(frame, page)) {
      page.reply.reject(new DataPortError('the data port sent a page of a scan that is cut short'));
      return true;
    }
    if (status === Status.success) return false;
    this.lastKey = page.lastKey;
    page.reply.resolve(page.documents);
    return true;
  }

  /** False if the frame ends within a key or a document. */
  private decode(frame: Frame, page: Page): boolean {
    const body = Buffer.from(frame.buffer.subarray(frame.valueStart, frame.end));
    const cursor: Cursor = { offset: 0, key: null };
    while (cursor.offset < body.length) {
      const document = this.scan.keysOnly
        ? keyAt(body, cursor)
        : documentAt(body, cursor, this.scan.withXattrs);
      if (document === null) return false;
      page.documents.push(document);
    }
    page.lastKey = cursor.key ?? page.lastKey;
    return true;
  }
}

interface Page {
  readonly documents: ScannedDocument[];
  lastKey: Buffer | null;
  readonly reply: Deferred<ScannedDocument[]>;
}

/** `key`: the bytes of the last key read, since the text of a key that is not UTF-8 has other bytes. */
interface Cursor {
  offset: number;
  key: Buffer | null;
}

/** Null if the body ends within the key. */
function keyAt(body: Buffer, cursor: Cursor): ScannedDocument | null {
  const key = keyTextAt(body, cursor);
  if (key === null) return null;
  return { key, value: nothing, xattrs: nothing, isJson: false, cas: 0n, flags: 0, expiry: 0 };
}

/** Null if the body ends within the document, or its extended attributes do not fit into its value. */
function documentAt(body: Buffer, cursor: Cursor, withXattrs: boolean): ScannedDocument | null {
  const start = cursor.offset;
  const datatype = body[start + 24] as number;
  cursor.offset += metaBytes;
  const key = keyTextAt(body, cursor);
  const value = rangeAt(body, cursor);
  if (key === null || value === null) return null;
  const [valueStart, end] = value;
  const bodyOffset =
    withXattrs && (datatype & Datatype.xattr) !== 0 ? bodyStart(body, valueStart, end) : valueStart;
  if (bodyOffset < 0) return null;
  return {
    key,
    value: body.subarray(bodyOffset, end),
    xattrs: body.subarray(valueStart, bodyOffset),
    isJson: (datatype & Datatype.json) !== 0,
    cas: body.readBigUInt64BE(start + 16),
    flags: body.readUInt32BE(start),
    expiry: body.readUInt32BE(start + 4),
  };
}

function keyTextAt(body: Buffer, cursor: Cursor): string | null {
  const range = rangeAt(body, cursor);
  if (range === null) return null;
  const [start, end] = range;
  cursor.key = body.subarray(start, end);
  return body.toString('utf8', start, end);
}

/** Reads a length (LEB128) and that many bytes. Null if the body ends before. */
function rangeAt(body: Buffer, cursor: { offset: number }): [start: number, end: number] | null {
  let length = 0;
  let factor = 1;
  for (;;) {
    const byte = body[cursor.offset++];
    if (byte === undefined) return null;
    length += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
    factor *= 0x80;
  }
  const start = cursor.offset;
  cursor.offset = start + length;
  return cursor.offset <= body.length ? [start, cursor.offset] : null;
}
