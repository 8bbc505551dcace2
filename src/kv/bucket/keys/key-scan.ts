// The keys of one collection in one vbucket, for scans: from memory, and from disk as well where whole documents may have
// been evicted.
import { Status } from '#wire/status.ts';
import { CutBits, CutReader } from '../../data/cut.ts';
import type { BackfillPage } from '../../data/disk-engine.ts';
import { collectionIdOf } from '../../vbucket/live-collections.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';

/** Which keys to list. `accepts` gets the key with the collection id in front. */
export interface KeyQuery {
  vb: number;
  collection: number;
  accepts(buffer: Buffer, start: number, end: number): boolean;
  /** A change that must still be the latest of its document; 0 for none. */
  seqno: number;
  /** Lists with more bytes than this are refused. */
  bytesMax: number;
}

export type WhenListed = (keys: Buffer[] | Status) => void;

export type ReadRows = (vb: number, afterSeqno: number) => Promise<BackfillPage>;

/** Lists the keys, sorted; calls back before it returns when memory holds all keys. */
export function listKeys(
  vbuckets: Vbuckets,
  readRows: ReadRows | null,
  query: KeyQuery,
  done: WhenListed,
): void {
  const list = new KeyList(query);
  listMemory(vbuckets, query, list);
  if (readRows === null || vbuckets.rows.itemsAway[query.vb] === 0) done(list.result());
  else void listDisk(readRows, query, list).then(done, () => done(Status.temporaryFailure));
}

class KeyList {
  private readonly keys = new Map<string, Buffer>();
  private readonly query: KeyQuery;
  private bytes = 0;
  hasSeqno: boolean;

  constructor(query: KeyQuery) {
    this.query = query;
    this.hasSeqno = query.seqno === 0;
  }

  get isFull(): boolean {
    return this.bytes > this.query.bytesMax;
  }

  add(buffer: Buffer, start: number, end: number): void {
    if (collectionIdOf(buffer, start) !== this.query.collection) return;
    if (this.isFull || !this.query.accepts(buffer, start, end)) return;
    const name = buffer.toString('latin1', start, end);
    if (this.keys.has(name)) return;
    this.bytes += end - start;
    this.keys.set(name, Buffer.from(buffer.subarray(start, end)));
  }

  result(): Buffer[] | Status {
    if (!this.hasSeqno) return Status.notStored;
    return this.isFull ? Status.busy : [...this.keys.values()].sort(Buffer.compare);
  }
}

function listMemory({ index, items, now }: Vbuckets, query: KeyQuery, list: KeyList): void {
  const { vb } = query;
  for (let place = 0; place < index.end(vb); place += 2) {
    const address = index.address(vb, index.slotAt(vb, place));
    if (address === 0) continue;
    if (items.seqno(address) === query.seqno) list.hasSeqno = true;
    if (!items.isLive(address, now.seconds)) continue;
    list.add(items.page(address), items.keyStart(address), items.valueStart(address));
  }
}

async function listDisk(readRows: ReadRows, query: KeyQuery, list: KeyList): Promise<Buffer[] | Status> {
  let after = 0;
  for (;;) {
    const page = await readRows(query.vb, after);
    takePage(page, query, list);
    if (page.toSeqno >= page.endSeqno || list.isFull) return list.result();
    after = page.toSeqno;
  }
}

function takePage({ batch }: BackfillPage, query: KeyQuery, list: KeyList): void {
  const reader = new CutReader(batch);
  while (reader.nextCut()) {
    while (reader.nextItem()) {
      const { item } = reader;
      if (item.seqno === query.seqno) list.hasSeqno = true;
      if ((item.bits & CutBits.deleted) === 0) list.add(item.buffer, item.keyStart, item.keyEnd);
    }
  }
}
