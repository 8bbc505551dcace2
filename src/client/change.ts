// Decodes the messages of change streams. A `Change` is reused for every message: copy what must outlive the call.
import { readU32, readU64 } from '#wire/bytes.ts';
import { readCollectionId } from '#wire/collection-id.ts';
import { EventKind, Message } from '#wire/dcp.ts';
import type { Frame } from '#wire/frame.ts';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart, getXattr } from '#wire/xattr-section.ts';
import { DataPortError } from './data-port-error.ts';
import { keyStartOf } from './document-key.ts';
import { inflatedBytesMax } from './fetched-document.ts';

export type ChangeKind = 'mutation' | 'deletion' | 'expiration';

const kinds: Readonly<Record<number, ChangeKind>> = {
  [Message.mutation]: 'mutation',
  [Message.deletion]: 'deletion',
  [Message.expiration]: 'expiration',
};

/** A new version of a document; valid only during the call that receives it. */
export class Change {
  kind: ChangeKind = 'mutation';
  vb = 0;
  seqno = 0;
  rev = 0;
  casHi = 0;
  casLo = 0;
  collectionId = 0;
  flags = 0;
  /** In seconds since 1970: when the document expires (0: never), or when it was deleted. */
  expiry = 0;
  isJson = false;
  /** The flags (`Datatype`) of the value as it was sent. */
  datatype = 0;
  /** Extended attributes (with the length in front), then the body; inflated, unless the connection keeps values compressed. */
  buffer: Buffer = Buffer.alloc(0);
  xattrsStart = 0;
  /** The end of the extended attributes. */
  bodyStart = 0;
  end = 0;
  private frame: Frame | null = null;

  /** The document key without its collection. */
  get key(): string {
    const { buffer, keyStart, valueStart } = this.frame as Frame;
    return buffer.toString('utf8', keyStartOf(buffer, keyStart, valueStart), valueStart);
  }

  /** The key as UTF-8; a view. */
  get keyBytes(): Buffer {
    const { buffer, keyStart, valueStart } = this.frame as Frame;
    return buffer.subarray(keyStartOf(buffer, keyStart, valueStart), valueStart);
  }

  /** The JSON text of an extended attribute (a view), or undefined. */
  xattr(name: string): Buffer | undefined {
    const section = this.buffer.subarray(this.xattrsStart, this.bodyStart);
    return section.length === 0 ? undefined : (getXattr(section, Buffer.from(name)) ?? undefined);
  }

  get cas(): bigint {
    return (BigInt(this.casHi) << 32n) | BigInt(this.casLo);
  }

  /** A view. */
  get body(): Buffer {
    return this.buffer.subarray(this.bodyStart, this.end);
  }

  /** With `keepsCompressed` the value stays as it was sent, and `bodyStart` has no meaning. */
  fill(frame: Frame, keepsCompressed = false): void {
    const { buffer, extrasStart } = frame;
    this.frame = frame;
    this.kind = kinds[frame.opcode] as ChangeKind;
    this.vb = frame.vb;
    this.seqno = readU64(buffer, extrasStart);
    this.rev = readU64(buffer, extrasStart + 8);
    this.casHi = frame.casHi;
    this.casLo = frame.casLo;
    this.collectionId = readCollectionId(buffer, frame.keyStart, frame.valueStart);
    const isMutation = frame.opcode === Message.mutation;
    const hasTime = frame.keyStart - extrasStart >= 20;
    this.flags = isMutation ? readU32(buffer, extrasStart + 16) : 0;
    this.expiry = isMutation
      ? readU32(buffer, extrasStart + 20)
      : hasTime
        ? readU32(buffer, extrasStart + 16)
        : 0;
    if (keepsCompressed) this.keepValue(frame);
    else this.fillValue(frame);
  }

  private keepValue({ buffer, valueStart, end, datatype }: Frame): void {
    this.datatype = datatype;
    this.isJson = (datatype & Datatype.json) !== 0;
    this.buffer = buffer;
    this.xattrsStart = valueStart;
    this.bodyStart = valueStart;
    this.end = end;
  }

  private fillValue(frame: Frame): void {
    const { datatype } = frame;
    this.datatype = datatype;
    this.isJson = (datatype & Datatype.json) !== 0;
    this.buffer = frame.buffer;
    this.xattrsStart = frame.valueStart;
    this.end = frame.end;
    if ((datatype & Datatype.snappy) !== 0) {
      const inflated = snappyInflate(frame.buffer, frame.valueStart, frame.end, inflatedBytesMax);
      if (inflated === null) throw new DataPortError('a change stream sent a value that cannot be inflated');
      this.buffer = inflated;
      this.xattrsStart = 0;
      this.end = inflated.length;
    }
    const hasXattrs = (datatype & Datatype.xattr) !== 0;
    this.bodyStart = hasXattrs ? bodyStart(this.buffer, this.xattrsStart, this.end) : this.xattrsStart;
    if (this.bodyStart < 0) throw new DataPortError('a change stream sent broken extended attributes');
  }
}

/** A system event: a scope or collection was created, dropped or changed. */
export interface CollectionEvent {
  vb: number;
  seqno: number;
  kind: EventKind;
  scopeId: number;
  /** 0 for scopes. */
  collectionId: number;
}

export function eventOf(frame: Frame): CollectionEvent {
  const { buffer, extrasStart, valueStart, end } = frame;
  const kind = readU32(buffer, extrasStart + 8) as EventKind;
  const isScopeEvent = kind === EventKind.createScope || kind === EventKind.dropScope;
  return {
    vb: frame.vb,
    seqno: readU64(buffer, extrasStart),
    kind,
    scopeId: end - valueStart >= 12 ? readU32(buffer, valueStart + 8) : 0,
    collectionId: !isScopeEvent && end - valueStart >= 16 ? readU32(buffer, valueStart + 12) : 0,
  };
}
