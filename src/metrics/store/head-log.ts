// The write-ahead log of a head: one record per append with all its samples, so that a killed process loses no written sample.
//
//   record:  [length][crc32 of the payload][payload]
//   payload: time, new series with their labels, then per sample the number of its series times two, plus one if the value is
//            that of its last sample; a value that differs follows
import { crc32 } from 'node:zlib';
import { RecordReader, RecordWriter } from '../encoding/record-codec.ts';
import type { Labels } from '../sample.ts';
import type { Head, HeadSeries } from './head.ts';

const recordHeaderBytes = 8;

export class LogEncoder {
  readonly #writer = new RecordWriter();
  #recorded: number;

  /** `recorded`: how many series of the head the log already defines; 0 for a new log. */
  constructor(recorded: number) {
    this.#recorded = recorded;
  }

  record(head: Head, timeMs: number, accepted: readonly HeadSeries[]): Buffer {
    const writer = this.#writer;
    const added = head.series.slice(this.#recorded);
    this.#recorded = head.series.length;
    writer.double(timeMs).number(added.length);
    for (const { labels } of added) writer.text(JSON.stringify(labels));
    for (const series of accepted) {
      writer.number(series.id * 2 + (series.isUnchanged ? 1 : 0));
      if (!series.isUnchanged) writer.double(series.value);
    }
    return framed(writer.drain());
  }
}

function framed(payload: Buffer): Buffer {
  const record = Buffer.allocUnsafe(recordHeaderBytes + payload.length);
  record.writeUInt32LE(payload.length, 0);
  record.writeUInt32LE(crc32(payload), 4);
  record.set(payload, recordHeaderBytes);
  return record;
}

/** A complete record. */
export interface ReplayedRecord {
  /** The offset of the next record. */
  readonly end: number;
  readonly timeMs: number;
}

/** Replays records into a new head. Stops before a truncated record; throws DamagedRecordError for a damaged one. */
export function* replay(bytes: Buffer, head: Head): Generator<ReplayedRecord> {
  let offset = 0;
  while (offset + recordHeaderBytes <= bytes.length) {
    const end = offset + recordHeaderBytes + bytes.readUInt32LE(offset);
    if (end > bytes.length) return;
    const payload = bytes.subarray(offset + recordHeaderBytes, end);
    if (crc32(payload) !== bytes.readUInt32LE(offset + 4)) throw new DamagedRecordError(offset);
    yield { end, timeMs: apply(new RecordReader(payload), head) };
    offset = end;
  }
}

class DamagedRecordError extends Error {
  override name = 'DamagedRecordError';

  constructor(offset: number) {
    super(`the record at byte ${offset} is damaged`);
  }
}

function apply(reader: RecordReader, head: Head): number {
  const timeMs = reader.double();
  for (let left = reader.number(); left > 0; left--) head.restore(JSON.parse(reader.text()) as Labels);
  while (!reader.isDone) {
    const code = reader.number();
    const series = head.series[Math.floor(code / 2)];
    if (series === undefined) throw new RangeError('the log names a series that it did not define');
    series.append(timeMs, code % 2 === 1 ? series.value : reader.double());
  }
  return timeMs;
}
