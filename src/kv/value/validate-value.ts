// Checks a client's value before it is stored: inflates it, checks its xattrs, finds out whether it is JSON. Pure, and linear
// in the number of bytes.
import { snappyInflate, snappyLength } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { isJson } from './json.ts';
import { bodyBytesMax, exceedsLimits, isXattrSection, systemXattrBytes, xattrBytesMax } from './xattrs.ts';

export const valueBytesMax = bodyBytesMax + xattrBytesMax;

/** Why a value cannot be stored, whichever command sends it. */
export type ValueFault = 'too big' | 'not inflatable' | 'bad attributes';

export interface ValueValidation {
  fault: ValueFault | null;
  /** The inflated value of a compressed one, else null. */
  plain: Buffer | null;
  isJson: boolean;
  /** Bytes of system xattrs. */
  systemBytes: number;
}

/** `encoding`: the bits of the datatype for compression and xattrs. */
export function validateValue(bytes: Buffer, start: number, end: number, encoding: number): ValueValidation {
  const validation: ValueValidation = { fault: null, plain: null, isJson: false, systemBytes: 0 };
  if ((encoding & Datatype.snappy) === 0) return validatePlain(bytes, start, end, encoding, validation);
  // Check the size that the block claims first.
  const claimed = snappyLength(bytes, start, end);
  if (claimed > valueBytesMax) return { ...validation, fault: 'too big' };
  const plain = claimed < 0 ? null : snappyInflate(bytes, start, end, valueBytesMax);
  if (plain === null) return { ...validation, fault: 'not inflatable' };
  validation.plain = plain;
  return validatePlain(plain, 0, plain.length, encoding, validation);
}

function validatePlain(
  bytes: Buffer,
  start: number,
  end: number,
  encoding: number,
  validation: ValueValidation,
): ValueValidation {
  const hasXattrs = (encoding & Datatype.xattr) !== 0;
  if (hasXattrs && !isXattrSection(bytes, start, end)) return { ...validation, fault: 'bad attributes' };
  const systemBytes = hasXattrs ? systemXattrBytes(bytes, start, end) : 0;
  validation.systemBytes = systemBytes;
  if (exceedsLimits(end - start, systemBytes, hasXattrs)) validation.fault = 'too big';
  else validation.isJson = isJson(bytes, hasXattrs ? bodyStart(bytes, start, end) : start, end);
  return validation;
}
