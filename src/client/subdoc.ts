// Encodes sub-document requests and decodes their replies (public document: kv_engine docs/BinaryProtocol.md).
import type { Frame } from '#wire/frame.ts';

export interface PathRead {
  /** See wire/subdoc-opcodes. */
  opcode: number;
  flags: number;
  path: string;
}

export interface PathWrite extends PathRead {
  value?: Uint8Array;
}

export interface PathResult {
  status: number;
  value: Buffer;
}

const nothing = Buffer.alloc(0);
/** The status of a result and the length of its value. */
const resultHeadBytes = 6;
/** Opcode, flags and the length of the path. */
const readHeadBytes = 4;
/** The same, and the length of the value. */
const writeHeadBytes = 8;
/** The index of the failed mutation and its status. */
const failureBytes = 3;

export function encodeReads(reads: readonly PathRead[]): Buffer {
  return Buffer.concat(
    reads.map(({ opcode, flags, path }) => {
      const spec = Buffer.alloc(readHeadBytes + Buffer.byteLength(path));
      spec[0] = opcode;
      spec[1] = flags;
      spec.writeUInt16BE(spec.length - readHeadBytes, 2);
      spec.write(path, readHeadBytes);
      return spec;
    }),
  );
}

export function encodeWrites(writes: readonly PathWrite[]): Buffer {
  return Buffer.concat(
    writes.flatMap(({ opcode, flags, path, value = nothing }) => {
      const spec = Buffer.alloc(writeHeadBytes + Buffer.byteLength(path));
      spec[0] = opcode;
      spec[1] = flags;
      spec.writeUInt16BE(spec.length - writeHeadBytes, 2);
      spec.writeUInt32BE(value.length, 4);
      spec.write(path, writeHeadBytes);
      return [spec, value];
    }),
  );
}

/** Statuses and copied values of the lookups, in order. */
export function decodeReads({ buffer, valueStart, end }: Frame): PathResult[] {
  const body = Buffer.from(buffer.subarray(valueStart, end));
  const results: PathResult[] = [];
  let start = 0;
  while (start + resultHeadBytes <= body.length) {
    const valueFrom = start + resultHeadBytes;
    const valueEnd = valueFrom + body.readUInt32BE(start + 2);
    results.push({ status: body.readUInt16BE(start), value: body.subarray(valueFrom, valueEnd) });
    start = valueEnd;
  }
  return results;
}

/** The index and status of the failed mutation; both 0 if the reply names none. */
export function decodeFailedWrite({ buffer, valueStart, end }: Frame): { index: number; status: number } {
  if (end - valueStart < failureBytes) return { index: 0, status: 0 };
  return { index: buffer[valueStart] as number, status: buffer.readUInt16BE(valueStart + 1) };
}

const attributeNameBytesMax = 15;
const punctuation = /^[!-/:-@[-`{-~\u007f]/;
const separators = /[.[\]`"\\]/;

/** What `isAttributeName` requires, for an error. */
export const attributeNameRule = `must have 1 to ${attributeNameBytesMax} bytes, begin with a letter, a digit, _ or $, and have none of . [ ] \` " \\`;

/** Whether a path of the protocol can name this attribute: in a path a dot or a bracket ends the name, and a name has no quotes. */
export function isAttributeName(name: string): boolean {
  if (name === '' || Buffer.byteLength(name) > attributeNameBytesMax) return false;
  // Attributes of the system begin with _, virtual ones with $.
  if (punctuation.test(name) && !/^[_$]./.test(name)) return false;
  return !separators.test(name) && [...name].every((character) => character >= ' ');
}
