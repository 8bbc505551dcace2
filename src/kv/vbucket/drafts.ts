// Turns a request into the draft of a document's next version: expiry, kept xattrs, what a tombstone keeps, sizes.

import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { CutBits, type CutItem } from '../data/cut.ts';
import type { MutationRequest } from '../data/documents.ts';
import { Bit, Word } from '../memory/layout.ts';
import { valueBytesMax } from '../value/validate-value.ts';
import {
  bodyBytesMax,
  exceedsLimits,
  systemXattrBytes,
  systemXattrs,
  xattrBytesMax,
} from '../value/xattrs.ts';
import type { Draft, Items } from './items.ts';

const empty = Buffer.alloc(0);

/** Takes key and value of the request; the caller sets the rest. */
export function draftOf(request: MutationRequest, draft: Draft): void {
  draft.key = request.key;
  draft.keyStart = request.keyStart;
  draft.keyEnd = request.keyEnd;
  draft.head = empty;
  draft.headStart = 0;
  draft.headEnd = 0;
  draft.value = request.value;
  draft.valueStart = request.valueStart;
  draft.valueEnd = request.valueEnd;
  draft.memory = request.memory;
  draft.datatype = request.datatype;
  draft.flags = request.flags;
  draft.expiry = 0;
  draft.bits = 0;
}

/** Fills the draft with a stored version, read from a cut. */
export function draftOfStored(item: CutItem, draft: Draft): void {
  draft.key = draft.value = item.buffer;
  draft.keyStart = item.keyStart;
  draft.keyEnd = item.keyEnd;
  draft.headStart = draft.headEnd = 0;
  draft.valueStart = item.valueStart;
  draft.valueEnd = item.valueEnd;
  draft.datatype = item.datatype;
  draft.flags = item.flags;
  draft.expiry = item.expiry;
  draft.bits =
    ((item.bits & CutBits.deleted) !== 0 ? Bit.deleted : 0) |
    ((item.bits & CutBits.expired) !== 0 ? Bit.expired : 0);
}

/** Puts the xattr section of the stored item in front of the draft's value. */
export function keepXattrs(draft: Draft, items: Items, address: number): void {
  const datatype = items.datatype(address);
  if ((datatype & Datatype.xattr) === 0) return;
  const page = items.page(address);
  const start = items.valueStart(address);
  const end = items.valueEnd(address);
  if (((datatype | draft.datatype) & Datatype.snappy) !== 0) {
    const isCompressed = (datatype & Datatype.snappy) !== 0;
    keepInflated(draft, isCompressed ? inflate(page, start, end) : page.subarray(start, end));
    return;
  }
  draft.head = page;
  draft.headStart = start;
  draft.headEnd = bodyStart(page, start, end);
  draft.datatype |= Datatype.xattr;
}

/** A compressed block cannot be extended: to join a section and a body, both are inflated. */
function keepInflated(draft: Draft, stored: Buffer): void {
  const section = stored.subarray(0, bodyStart(stored, 0, stored.length));
  const isCompressed = (draft.datatype & Datatype.snappy) !== 0;
  const body = isCompressed
    ? inflate(draft.value, draft.valueStart, draft.valueEnd)
    : draft.value.subarray(draft.valueStart, draft.valueEnd);
  setValue(draft, Buffer.concat([section, body]));
  draft.datatype = (draft.datatype & ~Datatype.snappy) | Datatype.xattr;
}

/** Fills the draft with a tombstone of the stored item, without a value. */
export function draftTombstone(draft: Draft, items: Items, address: number, nowSeconds: number): void {
  draft.key = items.page(address);
  draft.keyStart = items.keyStart(address);
  draft.keyEnd = items.valueStart(address);
  draft.headStart = draft.headEnd = 0;
  setValue(draft, empty);
  draft.datatype = Datatype.raw;
  draft.flags = items.word(address, Word.flags);
  draft.expiry = nowSeconds;
  draft.bits = Bit.deleted;
}

/** Fills the draft with a tombstone, without a value, of an item that is not in memory. */
export function draftStoredTombstone(draft: Draft, key: Buffer, nowSeconds: number): void {
  draft.key = key;
  draft.keyStart = 0;
  draft.keyEnd = key.length;
  draft.headStart = draft.headEnd = 0;
  setValue(draft, empty);
  draft.datatype = Datatype.raw;
  draft.flags = 0;
  draft.expiry = nowSeconds;
  draft.bits = Bit.deleted;
}

/** Replaces flags and value of the draft by what a tombstone of the stored item keeps: its flags and its system xattrs. */
export function keepForTombstone(draft: Draft, items: Items, address: number): void {
  draft.flags = items.word(address, Word.flags);
  const datatype = items.datatype(address);
  draft.datatype = Datatype.raw;
  setValue(draft, empty);
  if ((datatype & Datatype.xattr) === 0) return;
  let stored = items.page(address).subarray(items.valueStart(address), items.valueEnd(address));
  if ((datatype & Datatype.snappy) !== 0) stored = inflate(stored, 0, stored.length);
  const section = systemXattrs(stored, 0, stored.length);
  if (section.length === 0) return;
  setValue(draft, section);
  draft.datatype = Datatype.xattr;
}

/** Fills the draft, except the key, with the stored version itself. */
export function keepAll(draft: Draft, items: Items, address: number): void {
  draft.value = items.page(address);
  draft.valueStart = items.valueStart(address);
  draft.valueEnd = items.valueEnd(address);
  draft.datatype = items.datatype(address);
  draft.flags = items.word(address, Word.flags);
  draft.bits = items.state(address) & Bit.deleted;
}

/** The body may take 20 MiB, system xattrs 1 MiB more. Compressed values are checked by their stored size. */
export function checkSize(draft: Draft): Status {
  const headBytes = draft.headEnd - draft.headStart;
  const bytes = headBytes + draft.valueEnd - draft.valueStart;
  if (bytes <= xattrBytesMax) return Status.success;
  const isPlain = (draft.datatype & (Datatype.xattr | Datatype.snappy)) === Datatype.xattr;
  if (!isPlain) return bytes > bodyBytesMax ? Status.tooBig : Status.success;
  const system =
    headBytes > 0
      ? systemXattrBytes(draft.head, draft.headStart, draft.headEnd)
      : systemXattrBytes(draft.value, draft.valueStart, draft.valueEnd);
  return exceedsLimits(bytes, system, true) ? Status.tooBig : Status.success;
}

function setValue(draft: Draft, value: Buffer): void {
  draft.value = value;
  draft.valueStart = 0;
  draft.valueEnd = value.length;
}

/** Values were checked when they were stored; a malformed one counts as empty. */
const inflate = (bytes: Buffer, start: number, end: number): Buffer =>
  snappyInflate(bytes, start, end, valueBytesMax) ?? empty;
