// A block: one immutable file with all samples of a time span. The chunks of a series are adjacent; an index table locates the
// series of a metric without reading others. Every part has a checksum.
//
//   chunks:  one after the other, each [crc32 of its bytes][its bytes: the samples]
//   entries: per metric name [crc32][per series: labels, position of its first chunk, per chunk: times, count and length]
//   table:   per metric name position and length of its entries
//   footer:  [position of the table][its length][its crc32][crc32 of the footer so far][magic]
import { crc32 } from 'node:zlib';
import { RecordReader, RecordWriter } from '../encoding/record-codec.ts';
import type { Labels } from '../sample.ts';
import type { Chunk } from './head.ts';

const magic = Buffer.from('DVNTSB1\n', 'latin1');
export const footerBytes = 8 + 4 + 4 + 4 + magic.length;
const crcBytes = 4;

export interface SeriesChunks {
  readonly labels: Labels;
  readonly chunks: readonly Chunk[];
}

/** A byte range of the file. */
export interface FileRange {
  readonly offset: number;
  readonly length: number;
}

export type Table = ReadonlyMap<string, FileRange>;

export interface Entry {
  readonly labels: Labels;
  readonly chunks: readonly (FileRange & Omit<Chunk, 'bytes'>)[];
}

/** The bytes of the file. */
export function encodeBlock(series: readonly SeriesChunks[]): Buffer[] {
  const parts: Buffer[] = [];
  let offset = 0;
  const put = (bytes: Uint8Array): number => {
    const place = offset;
    parts.push(withCrc(bytes));
    offset += crcBytes + bytes.length;
    return place;
  };
  const entries = [...byName(series)].map(([name, members]) => {
    const writer = new RecordWriter();
    for (const member of members) writeEntry(writer, member, put);
    return [name, writer.drain()] as const;
  });
  const table = new RecordWriter();
  for (const [name, bytes] of entries) table.text(name).number(put(bytes)).number(bytes.length);
  const tableBytes = table.drain();
  parts.push(tableBytes, footerOf(offset, tableBytes));
  return parts;
}

function withCrc(bytes: Uint8Array): Buffer {
  const part = Buffer.allocUnsafe(crcBytes + bytes.length);
  part.writeUInt32LE(crc32(bytes));
  part.set(bytes, crcBytes);
  return part;
}

function byName(series: readonly SeriesChunks[]): Map<string, SeriesChunks[]> {
  const names = new Map<string, SeriesChunks[]>();
  for (const oneSeries of series) {
    if (oneSeries.chunks.length === 0) continue;
    const name = oneSeries.labels['__name__'] ?? '';
    const members = names.get(name);
    if (members) members.push(oneSeries);
    else names.set(name, [oneSeries]);
  }
  return names;
}

function writeEntry(
  writer: RecordWriter,
  { labels, chunks }: SeriesChunks,
  put: (bytes: Uint8Array) => number,
): void {
  const rest = Object.entries(labels).filter(([label]) => label !== '__name__');
  writer.number(rest.length);
  for (const [label, value] of rest) writer.text(label).text(value);
  writer.number(chunks.length);
  let before = 0;
  for (const [index, { firstMs, lastMs, count, bytes }] of chunks.entries()) {
    const place = put(bytes);
    if (index === 0) writer.number(place);
    writer
      .number(firstMs - before)
      .number(lastMs - firstMs)
      .number(count)
      .number(bytes.length);
    before = lastMs;
  }
}

function footerOf(offset: number, table: Buffer): Buffer {
  const footer = Buffer.alloc(footerBytes);
  footer.writeDoubleLE(offset, 0);
  footer.writeUInt32LE(table.length, 8);
  footer.writeUInt32LE(crc32(table), 12);
  footer.writeUInt32LE(crc32(footer.subarray(0, 16)), 16);
  footer.set(magic, 20);
  return footer;
}

/** A part of a file fails its checksum or is malformed; the message names it. */
export class DamageError extends Error {
  override name = 'DamageError';
}

/** The position of the table, and its checksum. */
export function readFooter(footer: Buffer): FileRange & { crc: number } {
  const isWhole =
    footer.length === footerBytes &&
    footer.subarray(20).equals(magic) &&
    footer.readUInt32LE(16) === crc32(footer.subarray(0, 16));
  if (!isWhole) throw new DamageError('its end is damaged or missing');
  return { offset: footer.readDoubleLE(0), length: footer.readUInt32LE(8), crc: footer.readUInt32LE(12) };
}

export function readTable(bytes: Buffer, crc: number): Table {
  if (crc32(bytes) !== crc) throw new DamageError('its table is damaged');
  const reader = new RecordReader(bytes);
  const table = new Map<string, FileRange>();
  while (!reader.isDone) {
    const name = reader.text();
    table.set(name, { offset: reader.number(), length: crcBytes + reader.number() });
  }
  return table;
}

export function* readEntries(name: string, part: Buffer): Generator<Entry> {
  const reader = new RecordReader(checked(part, `the entries of ${name}`));
  while (!reader.isDone) yield readEntry(name, reader);
}

function readEntry(name: string, reader: RecordReader): Entry {
  const labels: Record<string, string> = { __name__: name };
  for (let left = reader.number(); left > 0; left--) {
    const label = reader.text();
    labels[label] = reader.text();
  }
  const chunks: Entry['chunks'][number][] = [];
  const count = reader.number();
  let offset = count > 0 ? reader.number() : 0;
  let before = 0;
  for (let index = 0; index < count; index++) {
    const firstMs = before + reader.number();
    const lastMs = firstMs + reader.number();
    const samples = reader.number();
    const length = crcBytes + reader.number();
    chunks.push({ offset, length, firstMs, lastMs, count: samples });
    offset += length;
    before = lastMs;
  }
  return { labels, chunks };
}

/** Returns the bytes of a part after verifying the checksum in front of it. */
export function checked(part: Buffer, what: string): Buffer {
  const bytes = part.subarray(crcBytes);
  if (part.length < crcBytes || part.readUInt32LE(0) !== crc32(bytes))
    throw new DamageError(`${what} are damaged`);
  return bytes;
}
