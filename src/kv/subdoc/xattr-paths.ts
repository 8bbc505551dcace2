// The first component of an xattr path is the xattr's key. The operations work on a JSON text, so an xattr is wrapped into an
// object with the key as its only member, in which the whole path is followed.

import { PathFlag } from '#wire/subdoc-opcodes.ts';
import { isUtf8Range } from '../value/json.ts';
import { isXattrKey, xattrKeyBytesMax } from '../value/xattrs.ts';
import { emptyBytes } from './edit.ts';
import { locate, newMatch } from './locate.ts';
import type { PathComponent } from './path.ts';
import type { Spec } from './request.ts';

/** The key bytes of an xattr path (up to the first dot or bracket), empty for a path into the body. */
export function xattrKeyOf(spec: Spec): Buffer {
  if ((spec.flags & PathFlag.xattr) === 0) return emptyBytes;
  const end = spec.path.findIndex((byte) => byte === 0x2e || byte === 0x5b);
  return end < 0 ? spec.path : spec.path.subarray(0, end);
}

export function isXattr(spec: Spec): boolean {
  return (spec.flags & PathFlag.xattr) !== 0;
}

/** Keys with a leading `$` are virtual: their values are computed on each read. */
export function isVirtual(key: Buffer): boolean {
  return key[0] === 0x24;
}

/** Keys with a leading `_` are system xattrs. */
export function isSystem(key: Buffer): boolean {
  return key[0] === 0x5f;
}

/** Whether a key is valid in a path: a key that can be stored or a virtual one, without bytes that need escaping. */
export function isXattrPathKey(key: Buffer): boolean {
  if (key.includes(0x22) || key.includes(0x5c) || key.includes(0x60) || key.includes(0x5d)) return false;
  if (key.some((byte) => byte < 0x20)) return false;
  if (!isVirtual(key)) return isXattrKey(key, 0, key.length);
  return key.length > 1 && key.length <= xattrKeyBytesMax && isUtf8Range(key, 0, key.length);
}

const objectStart = Buffer.from('{"');
const nameEnd = Buffer.from('":');
const objectEnd = Buffer.from('}');
const noMembers = Buffer.from('{}');

/** Wraps an xattr's value into a JSON object; `{}` if there is no value. */
export function wrapXattr(key: Buffer, value: Buffer | null): Buffer {
  return value === null ? noMembers : Buffer.concat([objectStart, key, nameEnd, value, objectEnd]);
}

const match = newMatch();

/** The xattr's value in such an object, null if it was removed. */
export function unwrapXattr(key: Buffer, text: Buffer): Buffer | null {
  const component: PathComponent = { name: key, unescaped: null, index: 0 };
  locate(text, [component], match);
  return match.isFound ? text.subarray(match.valueStart, match.valueEnd) : null;
}
