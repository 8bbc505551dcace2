// Sub-document requests for tests.
import type { SubdocFeatures } from '../../src/kv/subdoc/request.ts';

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
