// Virtual xattrs: metadata of a document, readable as if it were stored in xattrs.
import { Datatype } from '#wire/status.ts';
import { XattrWalk } from '#wire/xattr-section.ts';
import { crc32c } from '../value/crc32c.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';

export function isVirtualName(name: string): boolean {
  return name === '$document' || name === '$XTOC' || name === '$vbucket';
}

/** The JSON value of a virtual xattr. `section` and `body` are the parts of the document's value. */
export function virtualXattr(
  name: string,
  doc: SubdocDocument,
  section: Buffer,
  body: Buffer,
  context: SubdocContext,
): Buffer {
  if (name === '$document') return Buffer.from(documentXattr(doc, body));
  if (name === '$XTOC') return Buffer.from(tableOfContents(section, context));
  const { wallSeconds: now, hlcMode: mode } = context;
  return Buffer.from(JSON.stringify({ HLC: { mode, now: String(now) } }));
}

/** Field names and functions for their values as JSON text, in output order. */
const fields: Record<string, (doc: SubdocDocument, body: Buffer) => string> = {
  CAS: (doc) => hex64(doc.casHi, doc.casLo),
  datatype: (doc) => JSON.stringify(datatypeNames(doc.datatype)),
  deleted: (doc) => String(doc.isDeleted),
  exptime: (doc) => String(doc.expiry),
  flags: (doc) => String(doc.flags),
  last_modified: (doc) => `"${doc.lastModified}"`,
  revid: (doc) => `"${doc.rev}"`,
  seqno: (doc) => hex64(Math.floor(doc.seqno / 2 ** 32), doc.seqno % 2 ** 32),
  value_bytes: (_, body) => String(body.length),
  value_crc32c: (_, body) => hex32(checksumOf(body)),
  vbucket_uuid: (doc) => hex64(doc.vbuuidHi, doc.vbuuidLo),
};

/** Cache: several paths of a request may read the checksum, which takes long for a large body. */
const checksums = new WeakMap<Buffer, number>();

function checksumOf(body: Buffer): number {
  let checksum = checksums.get(body);
  if (checksum === undefined) {
    checksum = crc32c(body, 0, body.length);
    checksums.set(body, checksum);
  }
  return checksum;
}

export function documentXattr(doc: SubdocDocument, body: Buffer): string {
  const members = Object.entries(fields).map(([name, text]) => `"${name}":${text(doc, body)}`);
  return `{${members.join(',')}}`;
}

/** One field of `$document` as JSON text, null for an unknown field. */
export function documentField(name: string, doc: SubdocDocument, body: Buffer): string | null {
  return Object.hasOwn(fields, name) ? (fields[name]?.(doc, body) ?? null) : null;
}

function datatypeNames(datatype: number): string[] {
  const names: string[] = [];
  if (datatype & Datatype.snappy) names.push('snappy');
  if (datatype & Datatype.json) names.push('json');
  if (datatype & Datatype.xattr) names.push('xattr');
  return names.length === 0 ? ['raw'] : names;
}

const walk = new XattrWalk();

function tableOfContents(section: Buffer, context: SubdocContext): string {
  const keys: string[] = [];
  walk.begin(section, 0, section.length);
  while (walk.next()) {
    if (walk.isSystem && !context.mayReadSystemXattrs) continue;
    keys.push(section.toString('utf8', walk.keyStart, walk.keyEnd));
  }
  return JSON.stringify(keys);
}

/** A JSON string `"0x…"` of 16 digits. */
export function hex64(high: number, low: number): string {
  return `"0x${digits(high)}${digits(low)}"`;
}

/** A JSON string `"0x…"` of 8 digits. */
export function hex32(value: number): string {
  return `"0x${digits(value)}"`;
}

function digits(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}

/** Reverses the bytes of a 32-bit word. */
export function swapBytes(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
