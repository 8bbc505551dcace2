// Writes the messages of one connection's streams, each document in the form that the client requested.
import { writeU32, writeU64 } from '#wire/bytes.ts';
import { type MarkerVersion, Message } from '#wire/dcp.ts';
import { headerBytes, Magic } from '#wire/frame.ts';
import type { Output } from '#wire/output.ts';
import { packedBytesMax, snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { valueBytesMax } from '../value/validate-value.ts';
import { systemXattrs } from '../value/xattrs.ts';
import type { EventForm } from './event-forms.ts';

const itemExtrasBytes = { mutation: 31, expiration: 20, deletion: 18, deletionWithTime: 21 } as const;
/** By version: the bytes of the fields of a snapshot marker. */
const markerBytes: Readonly<Record<MarkerVersion, number>> = { 1: 20, 2: 36, 2.2: 52 };

/** The form in which the client requests documents. */
export interface ItemForm {
  collections: boolean;
  json: boolean;
  snappy: boolean;
  xattrs: boolean;
  deletedUserXattrs: boolean;
  noValue: boolean;
  /** With `noValue`: the datatype describes the value that is left out. */
  keepDatatype: boolean;
  /** The bits of datatypes that the client has negotiated. */
  datatypes: number;
  deleteTimes: boolean;
  expiryOpcode: boolean;
  forceCompression: boolean;
}

/** The stream of a message. */
export interface Address {
  vb: number;
  opaque: number;
  /** 0 when streams of the connection have no ids. */
  streamId: number;
}

export interface Marker {
  start: number;
  end: number;
  flags: number;
  version: MarkerVersion;
  purge: number;
}

const streamIdBytes = 3;
const empty = Buffer.alloc(0);

export class MessageWriter {
  /** Bytes of the message written last. */
  bytes = 0;
  private readonly output: Output;
  private value: Buffer = empty;
  private valueStart = 0;
  private valueEnd = 0;
  private datatype = 0;

  constructor(output: Output) {
    this.output = output;
  }

  item(to: Address, item: CutItem, form: ItemForm): void {
    this.shape(item, form);
    const isDeleted = (item.bits & CutBits.deleted) !== 0;
    const keyStart = form.collections ? item.keyStart : item.keyStart + 1;
    const keyBytes = item.keyEnd - keyStart;
    const isExpired = form.expiryOpcode && (item.bits & CutBits.expired) !== 0;
    const opcode = !isDeleted ? Message.mutation : isExpired ? Message.expiration : Message.deletion;
    const hasTime = isExpired || form.deleteTimes || form.expiryOpcode;
    const { mutation, expiration, deletion, deletionWithTime } = itemExtrasBytes;
    const deletedBytes = isExpired ? expiration : hasTime ? deletionWithTime : deletion;
    const extrasBytes = isDeleted ? deletedBytes : mutation;
    const valueBytes = this.valueEnd - this.valueStart;
    const attached = valueBytes < ownMemoryBytes ? 0 : valueBytes;
    const at = this.begin(opcode, to, extrasBytes, keyBytes, valueBytes, this.datatype, item, attached);
    const { buffer } = this.output;
    buffer.fill(0, at + 16, at + extrasBytes);
    writeU64(buffer, at, item.seqno);
    writeU64(buffer, at + 8, item.rev);
    if (!isDeleted) {
      writeU32(buffer, at + 16, item.flags);
      writeU32(buffer, at + 20, item.expiry);
    } else if (hasTime) {
      writeU32(buffer, at + 16, item.expiry);
    }
    const keyAt = at + extrasBytes;
    item.buffer.copy(buffer, keyAt, keyStart, item.keyEnd);
    if (attached > 0) this.output.attach(this.value.subarray(this.valueStart, this.valueEnd));
    else if (valueBytes > 0) this.value.copy(buffer, keyAt + keyBytes, this.valueStart, this.valueEnd);
  }

  marker(to: Address, marker: Marker): void {
    const { version } = marker;
    const fieldBytes = markerBytes[version];
    const isPlain = version === 1;
    // The extras of versions 2 and 2.2 have only the part after the dot; the fields are the value.
    const [extrasBytes, valueBytes] = isPlain ? [fieldBytes, 0] : [1, fieldBytes];
    const at = this.begin(Message.snapshotMarker, to, extrasBytes, 0, valueBytes, 0, null);
    const { buffer } = this.output;
    if (!isPlain) buffer[at] = version === 2 ? 0 : 2;
    const fields = isPlain ? at : at + 1;
    writeU64(buffer, fields, marker.start);
    writeU64(buffer, fields + 8, marker.end);
    writeU32(buffer, fields + 16, marker.flags);
    if (isPlain) return;
    // Durable writes are never sent before they are resolved: all that is sent is visible and complete.
    writeU64(buffer, fields + 20, marker.end);
    writeU64(buffer, fields + 28, marker.end);
    if (version === 2) return;
    writeU64(buffer, fields + 36, marker.end);
    writeU64(buffer, fields + 44, marker.purge);
  }

  event(to: Address, seqno: number, kind: number, { version, key, value }: EventForm): void {
    const keyBytes = Buffer.byteLength(key);
    const at = this.begin(Message.systemEvent, to, 13, keyBytes, value.length, 0, null);
    const { buffer } = this.output;
    writeU64(buffer, at, seqno);
    writeU32(buffer, at + 8, kind);
    buffer[at + 12] = version;
    buffer.write(key, at + 13);
    value.copy(buffer, at + 13 + keyBytes);
  }

  seqnoAdvanced(to: Address, seqno: number): void {
    // Begin first: the output may have another buffer afterwards.
    const at = this.begin(Message.seqnoAdvanced, to, 8, 0, 0, 0, null);
    writeU64(this.output.buffer, at, seqno);
  }

  end(to: Address, reason: number): void {
    const at = this.begin(Message.streamEnd, to, 4, 0, 0, 0, null);
    writeU32(this.output.buffer, at, reason);
  }

  noop(opaque: number): void {
    this.begin(Message.noop, { vb: 0, opaque, streamId: 0 }, 0, 0, 0, 0, null);
  }

  /** Writes the header of a request to the client; returns the offset of its extras. */
  private begin(
    opcode: number,
    to: Address,
    extrasBytes: number,
    keyBytes: number,
    valueBytes: number,
    datatype: number,
    item: CutItem | null,
    attachedBytes = 0,
  ): number {
    const { output } = this;
    const framingBytes = to.streamId === 0 ? 0 : streamIdBytes;
    const bodyBytes = framingBytes + extrasBytes + keyBytes + valueBytes;
    const at = output.reserve(headerBytes + bodyBytes - attachedBytes);
    const { buffer } = output;
    buffer[at] = framingBytes === 0 ? Magic.request : Magic.altRequest;
    buffer[at + 1] = opcode;
    buffer[at + 2] = framingBytes === 0 ? keyBytes >> 8 : framingBytes;
    buffer[at + 3] = keyBytes;
    buffer[at + 4] = extrasBytes;
    buffer[at + 5] = datatype;
    buffer.writeUInt16BE(to.vb, at + 6);
    writeU32(buffer, at + 8, bodyBytes);
    writeU32(buffer, at + 12, to.opaque);
    writeU32(buffer, at + 16, item?.casHi ?? 0);
    writeU32(buffer, at + 20, item?.casLo ?? 0);
    if (framingBytes > 0) {
      // Frame type 2, a stream id, with two bytes.
      buffer[at + headerBytes] = 0x22;
      buffer.writeUInt16BE(to.streamId, at + headerBytes + 1);
    }
    this.bytes = headerBytes + bodyBytes;
    output.end = at + this.bytes - attachedBytes;
    return at + headerBytes + framingBytes;
  }

  /** Chooses which part of the value is sent, and its datatype. */
  private shape(item: CutItem, form: ItemForm): void {
    this.value = item.buffer;
    this.valueStart = item.valueStart;
    this.valueEnd = item.valueEnd;
    this.datatype = item.datatype;
    const hasXattrs = (item.datatype & Datatype.xattr) !== 0;
    const isDeleted = (item.bits & CutBits.deleted) !== 0;
    const cutsXattrs = hasXattrs && (!form.xattrs || (isDeleted && !form.deletedUserXattrs));
    const isPacked = (item.datatype & Datatype.snappy) !== 0;
    if (isPacked && (!form.snappy || cutsXattrs || form.noValue)) this.inflate();
    if (cutsXattrs) this.cutXattrs(form.xattrs);
    if (form.noValue) this.dropBody(item.datatype, form);
    if (!form.json) this.datatype &= ~Datatype.json;
    if (form.forceCompression && form.snappy) this.compress();
  }

  private inflate(): void {
    const inflated = snappyInflate(this.value, this.valueStart, this.valueEnd, valueBytesMax) ?? empty;
    this.setValue(inflated);
    this.datatype &= ~Datatype.snappy;
  }

  private cutXattrs(keepSystem: boolean): void {
    if (keepSystem) {
      this.setValue(systemXattrs(this.value, this.valueStart, this.valueEnd));
      if (this.valueEnd === 0) this.datatype = Datatype.raw;
      return;
    }
    this.valueStart = bodyStart(this.value, this.valueStart, this.valueEnd);
    this.datatype &= ~Datatype.xattr;
  }

  private dropBody(stored: number, form: ItemForm): void {
    const hasXattrs = (this.datatype & Datatype.xattr) !== 0;
    this.valueEnd = hasXattrs ? bodyStart(this.value, this.valueStart, this.valueEnd) : this.valueStart;
    this.datatype &= Datatype.xattr;
    if (!form.keepDatatype) return;
    this.datatype = stored & form.datatypes;
    // What is sent of the value has the form that the datatype says.
    if ((this.datatype & Datatype.snappy) !== 0 && this.valueEnd > this.valueStart)
      this.setValue(snappyCompress(this.value, this.valueStart, this.valueEnd));
  }

  private compress(): void {
    const bytes = this.valueEnd - this.valueStart;
    if (bytes === 0 || bytes > packedBytesMax || (this.datatype & Datatype.snappy) !== 0) return;
    const packed = snappyCompress(this.value, this.valueStart, this.valueEnd);
    if (packed.length >= bytes) return;
    this.setValue(packed);
    this.datatype |= Datatype.snappy;
  }

  private setValue(value: Buffer): void {
    this.value = value;
    this.valueStart = 0;
    this.valueEnd = value.length;
  }
}
