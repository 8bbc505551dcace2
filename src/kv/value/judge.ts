// What must be known of a value that a client sends before it can be stored: inflated, with its attributes looked at, JSON or
// not. Pure, and linear in the bytes.
import { snappyInflate, snappyLength } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { isJson } from './json.ts';
import { bodyBytesLimit, isXattrs, systemXattrBytes, xattrBytesLimit } from './xattrs.ts';

export const valueBytesMax = bodyBytesLimit + xattrBytesLimit;

/** Why a value cannot be stored, whoever sends it. */
export type ValueFault = 'too big' | 'not inflatable' | 'bad attributes';

export interface Judgement {
  fault: ValueFault | null;
  /** What a compressed value holds, else null. */
  plain: Buffer | null;
  isJson: boolean;
  /** Of system attributes. */
  systemBytes: number;
}

/** `typed` are the bits of the datatype that say how to read the bytes. */
export function judgeValue(bytes: Buffer, start: number, end: number, typed: number): Judgement {
  const judgement: Judgement = { fault: null, plain: null, isJson: false, systemBytes: 0 };
  if ((typed & Datatype.snappy) === 0) return judgePlain(bytes, start, end, typed, judgement);
  // The size that it claims is looked at first.
  const claimed = snappyLength(bytes, start, end);
  if (claimed > valueBytesMax) return { ...judgement, fault: 'too big' };
  const plain = claimed < 0 ? null : snappyInflate(bytes, start, end, valueBytesMax);
  if (plain === null) return { ...judgement, fault: 'not inflatable' };
  judgement.plain = plain;
  return judgePlain(plain, 0, plain.length, typed, judgement);
}

function judgePlain(
  bytes: Buffer,
  start: number,
  end: number,
  typed: number,
  judgement: Judgement,
): Judgement {
  const hasXattrs = (typed & Datatype.xattr) !== 0;
  if (hasXattrs && !isXattrs(bytes, start, end)) return { ...judgement, fault: 'bad attributes' };
  const systemBytes = hasXattrs ? systemXattrBytes(bytes, start, end) : 0;
  judgement.systemBytes = systemBytes;
  if (systemBytes > xattrBytesLimit || end - start - systemBytes > bodyBytesLimit)
    judgement.fault = 'too big';
  else judgement.isJson = isJson(bytes, hasXattrs ? bodyStart(bytes, start, end) : start, end);
  return judgement;
}
