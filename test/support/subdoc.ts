// Sub-document requests and documents for tests.
import { Datatype } from '#wire/status.ts';
import type { SubdocContext, SubdocDocument } from '../../src/kv/subdoc/document.ts';
import type { SubdocFeatures } from '../../src/kv/subdoc/request.ts';
import { setXattr } from '../../src/kv/value/xattrs.ts';

export const allFeatures: SubdocFeatures = {
  xattr: true,
  documentMacro: true,
  replaceBodyWithXattr: true,
  replicaRead: true,
  multiXattrKeys: true,
  binaryXattr: true,
};

export const noFeatures: SubdocFeatures = {
  xattr: false,
  documentMacro: false,
  replaceBodyWithXattr: false,
  replicaRead: false,
  multiXattrKeys: false,
  binaryXattr: false,
};

/** One spec of a multi lookup as it is on the wire. */
export function aLookupSpec(opcode: number, path: string, flags = 0): Buffer {
  const bytes = Buffer.from(path, 'latin1');
  return Buffer.concat([Buffer.from([opcode, flags, bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

/** One spec of a multi mutation as it is on the wire. */
export function aMutationSpec(opcode: number, path: string, value: string | Buffer = '', flags = 0): Buffer {
  const pathBytes = Buffer.from(path, 'latin1');
  const valueBytes = Buffer.from(value as string);
  const header = Buffer.from([opcode, flags, pathBytes.length >> 8, pathBytes.length & 0xff, 0, 0, 0, 0]);
  header.writeUInt32BE(valueBytes.length, 4);
  return Buffer.concat([header, pathBytes, valueBytes]);
}

/** A live JSON document without xattrs. */
export function aDocument(changes: Partial<SubdocDocument> = {}): SubdocDocument {
  return {
    exists: true,
    isDeleted: false,
    datatype: Datatype.json,
    value: Buffer.from('{"a":1}'),
    flags: 0x02000006,
    expiry: 0,
    casHi: 0x17000000,
    casLo: 0x00010000,
    seqno: 7,
    rev: 3,
    vbuuidHi: 0xaaaa0000,
    vbuuidLo: 0x0000bbbb,
    lastModified: 1_700_000_000,
    ...changes,
  };
}

/** A document with xattrs, or with `deleted: true` a tombstone with them. */
export function aDocumentWithXattrs(
  xattrs: Record<string, string>,
  body = '{"a":1}',
  changes: Partial<SubdocDocument> = {},
): SubdocDocument {
  let section: Buffer = Buffer.alloc(0);
  for (const [key, value] of Object.entries(xattrs))
    section = setXattr(section, Buffer.from(key), Buffer.from(value));
  const datatype = 4 | (body === '' ? 0 : 1);
  return aDocument({ datatype, value: Buffer.concat([section, Buffer.from(body)]), ...changes });
}

export const noDocument = aDocument({
  exists: false,
  value: Buffer.alloc(0),
  datatype: 0,
  casHi: 0,
  casLo: 0,
});

export function aContext(changes: Partial<SubdocContext> = {}): SubdocContext {
  return {
    casHi: 0x01020304,
    casLo: 0x05060708,
    seqno: 0x1_0000_0002,
    mayReadSystemXattrs: true,
    mayWriteSystemXattrs: true,
    wallSeconds: 1_700_000_123,
    hlcMode: 'real',
    ...changes,
  };
}
