// What a client does with the documents of a simulated node: data services without their listeners.
import { type Documents, emptyItemView } from '#kv/data/documents.ts';
import { Now } from '#kv/vbucket/now.ts';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { aRequest, type Change, keyOf } from './a-bucket.ts';
import type { SimulatedClock } from './simulated-clock.ts';

export abstract class NodeDocuments {
  readonly now = new Now();
  readonly result = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  readonly view = emptyItemView();
  protected abstract readonly clock: SimulatedClock;
  abstract readonly documents: Documents;

  tick(): void {
    this.now.set(this.clock.wallMs(), this.clock.monotonicMs());
  }

  store(key: string, vb: number, change: Change = {}) {
    this.tick();
    return this.documents.store(aRequest(key, { vb, ...change }), this.result);
  }

  remove(key: string, vb: number, change: Change = {}) {
    this.tick();
    return this.documents.remove(aRequest(key, { vb, ...change }), this.result);
  }

  read(key: string, vb: number): string | Status {
    this.tick();
    const bytes = keyOf(key);
    const { documents } = this;
    const isActive = documents.isActive(vb);
    const find = isActive ? documents.findAny.bind(documents) : documents.findReplica.bind(documents);
    const status = find(vb, bytes, 0, bytes.length, this.view) as Status;
    if (status !== Status.success) return status;
    const { casHi, casLo, datatype, expiry, flags, isDeleted, rev, seqno } = this.view;
    const withoutCompression = datatype & ~Datatype.snappy;
    return JSON.stringify([
      this.value(),
      casHi,
      casLo,
      rev,
      seqno,
      isDeleted,
      withoutCompression,
      expiry,
      flags,
    ]);
  }

  /** The value in the view, not compressed. */
  private value(): string {
    const { buffer, datatype, valueEnd, valueStart } = this.view;
    if ((datatype & Datatype.snappy) === 0) return buffer.toString('latin1', valueStart, valueEnd);
    const inflated = snappyInflate(buffer, valueStart, valueEnd, 2 ** 20);
    if (inflated === null) throw new Error('a value is not compressed, although its datatype says so');
    return inflated.toString('latin1');
  }
}
