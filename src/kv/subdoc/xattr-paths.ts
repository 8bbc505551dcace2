// The first component of an xattr path is the xattr's key. The operations work on a JSON text, so an xattr is put
// into one: an object with the key as its only member, where the whole path leads to its place.

import { PathFlag } from '#wire/subdoc-opcodes.ts';
import { isUtf8Range } from '../value/json.ts';
import { isXattrKey, xattrKeyLimit } from '../value/xattrs.ts';
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

/** Keys that start with `$` are made up on each read. */
export function isVirtual(key: Buffer): boolean {
  return key[0] === 0x24;
}

/** Keys that start with `_` belong to the system. */
export function isSystem(key: Buffer): boolean {
  return key[0] === 0x5f;
}

/** Whether a path may name an xattr: a key that can be stored or a virtual one, in bytes that need no escape. */
export function isXattrPathKey(key: Buffer): boolean {
  if (key.includes(0x22) || key.includes(0x5c) || key.includes(0x60) || key.includes(0x5d)) return false;
  if (key.some((byte) => byte < 0x20)) return false;
  if (!isVirtual(key)) return isXattrKey(key, 0, key.length);
  return key.length > 1 && key.length < xattrKeyLimit && isUtf8Range(key, 0, key.length);
}

const objectStart = Buffer.from('{"');
const nameEnd = Buffer.from('":');
const objectEnd = Buffer.from('}');
const noMembers = Buffer.from('{}');

/** The JSON text around an xattr's value; `{}` when there is none. */
export function wrapXattr(key: Buffer, value: Buffer | null): Buffer {
  return value === null ? noMembers : Buffer.concat([objectStart, key, nameEnd, value, objectEnd]);
}

const match = newMatch();

/** The xattr's value in such a text, null when it is gone. */
export function unwrapXattr(key: Buffer, text: Buffer): Buffer | null {
  const component: PathComponent = { name: key, unescaped: null, index: 0 };
  locate(text, [component], match);
  return match.found ? text.subarray(match.valueStart, match.valueEnd) : null;
}
