// A document in the memory of the data service, as the query engine reads it there.
import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { MemoryDocument } from '#wire/document-batch.ts';
import { Datatype } from '#wire/status.ts';
import { inflatedValue } from './inflated-value.ts';

/**
 * A larger value is copied as a whole: rows may keep a reference to a part that takes at least half of its buffer, and would then refer to the
 * memory of the data service. Rows get copies of all parts of smaller values (`ownJson`), so those are read in place.
 */
const copiedPartsMax = 16 << 10;
const noBytes = Buffer.alloc(0);

/** One document after the other: `bytes` is a copy, `place` is valid until the next one. */
export class DocumentInMemory implements StoredDocument {
  id = '';
  readonly place: { buffer: Uint8Array; start: number; end: number } = { buffer: noBytes, start: 0, end: 0 };
  private document!: MemoryDocument;

  set(id: string, document: MemoryDocument): void {
    const { place } = this;
    const { bytes, start, end, datatype } = document;
    this.id = id;
    this.document = document;
    place.buffer = bytes;
    place.start = start;
    place.end = end;
    if ((datatype & Datatype.snappy) !== 0) this.own(inflatedValue(bytes, start, end));
    else if (end - start > copiedPartsMax) this.own(this.bytes);
  }

  private own(value: Uint8Array): void {
    const { place } = this;
    place.buffer = value;
    place.start = 0;
    place.end = value.length;
  }

  get bytes(): Uint8Array {
    const { buffer, start, end } = this.place;
    return new Uint8Array(buffer.subarray(start, end));
  }

  get isJson(): boolean {
    return (this.document.datatype & Datatype.json) !== 0;
  }

  get cas(): bigint {
    const { casHi, casLo } = this.document;
    return (BigInt(casHi) << 32n) | BigInt(casLo);
  }

  get expiration(): number {
    return this.document.expiry;
  }

  get flags(): number {
    return this.document.flags;
  }
}
