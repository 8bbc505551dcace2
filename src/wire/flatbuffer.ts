// Encodes one FlatBuffers table (public document: https://flatbuffers.dev/internals) of numbers, booleans and at most one
// string, which is all that system events need.

/** One field of the table; fields are given in the order of the schema. */
export type Field = { u64: number } | { u32: number } | { bool: boolean } | { text: string };

const rootBytes = 4;

/** Layout of the result: offset of the table, vtable, table with its fields, string. */
export function encodeTable(fields: readonly Field[]): Buffer {
  const vtableBytes = 4 + 2 * fields.length;
  const tableAt = aligned(rootBytes + vtableBytes, 4);
  const vtableAt = tableAt - vtableBytes;
  const offsets: number[] = [];
  let end = tableAt + 4;
  for (const field of fields) {
    const bytes = bytesOf(field);
    const at = aligned(end, bytes);
    offsets.push(at);
    end = at + bytes;
  }
  const text = fields.flatMap((field) => ('text' in field ? [Buffer.from(field.text)] : []))[0];
  const textAt = aligned(end, 4);
  const buffer = Buffer.alloc(text ? aligned(textAt + 4 + text.length + 1, 4) : aligned(end, 4));
  buffer.writeUInt32LE(tableAt, 0);
  buffer.writeUInt16LE(vtableBytes, vtableAt);
  buffer.writeUInt16LE(end - tableAt, vtableAt + 2);
  buffer.writeInt32LE(tableAt - vtableAt, tableAt);
  for (const [index, field] of fields.entries()) {
    const at = offsets[index] as number;
    buffer.writeUInt16LE(at - tableAt, vtableAt + 4 + 2 * index);
    writeField(buffer, at, field, textAt);
  }
  if (text) {
    buffer.writeUInt32LE(text.length, textAt);
    text.copy(buffer, textAt + 4);
  }
  return buffer;
}

function writeField(buffer: Buffer, at: number, field: Field, textAt: number): void {
  if ('u64' in field) buffer.writeBigUInt64LE(BigInt(field.u64), at);
  else if ('u32' in field) buffer.writeUInt32LE(field.u32, at);
  else if ('bool' in field) buffer[at] = field.bool ? 1 : 0;
  else buffer.writeUInt32LE(textAt - at, at);
}

const bytesOf = (field: Field): number => ('u64' in field ? 8 : 'bool' in field ? 1 : 4);

const aligned = (at: number, bytes: number): number => Math.ceil(at / bytes) * bytes;
