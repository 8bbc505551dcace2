// The rows of one data file in memory.
import {
  CutBits,
  type CutItem,
  CutReader,
  type CutState,
  CutWriter,
  cutItemBytes,
  isExpired,
  itemBitsAt,
  itemExpiryAt,
  itemValueBytesAt,
  keyText,
  stateOfVbucket,
} from '#kv/data/cut.ts';
import { isEventKey } from '#kv/data/system-events.ts';
import {
  type BackfillPage,
  type CollectionKeysRequest,
  type CutBuffer,
  type ExpiredKey,
  type ExpiredKeysRequest,
  type LargeItems,
  type LoadedValues,
  type PurgedVbucket,
  purgedRecord,
  type VbucketRecord,
} from '../data/disk-engine.ts';
import type { DocumentKey } from '../data/document-keys.ts';
import { smallValueMax } from './schema.ts';
import { recordOf, stateOf } from './vb-row.ts';

/** A batch of `batches` ends after this many bytes. */
const batchTargetBytes = 1 << 20;

interface StoredVbucket {
  record: VbucketRecord;
  /** Encoded items by key (latin1). */
  byKey: Map<string, { seqno: number; encoded: Buffer }>;
  /** The key of each seqno in use. */
  bySeqno: Map<number, string>;
}

export class MemoryFile {
  /** The process that last had the file open closed it without a failure. */
  isClean = true;
  /** The boot ids of that process, as it gave them when it closed the file; null: not closed cleanly, or none given. */
  closedBy: string | null = null;
  /** Why the file can no longer be read. */
  damage: string | null = null;
  private vbuckets = new Map<number, StoredVbucket>();

  records(): VbucketRecord[] {
    return this.sorted().map((vbucket) => structuredClone(vbucket.record));
  }

  /** Applies all of the cuts, or throws and applies none. */
  apply(cuts: CutBuffer): void {
    this.check(cuts);
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      const vbucket = this.vbucketOf(reader.state.vb);
      while (reader.nextItem()) put(vbucket, reader.item);
      const { purgeSeqno = 0 } = vbucket.record;
      vbucket.record = recordOf(reader.state);
      // The cut may have been encoded before a compaction was reported.
      vbucket.record.purgeSeqno = Math.max(vbucket.record.purgeSeqno, purgeSeqno);
    }
  }

  /** Removes the vbucket. */
  drop(vb: number): void {
    this.vbuckets.delete(vb);
  }

  /** See `DiskEngine.rollBack`. */
  rollBack(cut: CutBuffer): boolean {
    const reader = new CutReader(cut);
    if (!reader.nextCut()) return false;
    const { endSeqno, vb } = reader.state;
    const vbucket = this.vbucketOf(vb);
    if ((vbucket.record.purgeSeqno ?? 0) > endSeqno || !mayHold(vbucket, reader, endSeqno)) return false;
    for (const [key, { seqno }] of vbucket.byKey) {
      if (seqno <= endSeqno) continue;
      vbucket.byKey.delete(key);
      vbucket.bySeqno.delete(seqno);
    }
    this.apply(cut);
    return true;
  }

  /** The newest items of these keys, each in a cut of its own. */
  fetchItems(keys: readonly DocumentKey[]): CutBuffer {
    const writer = new CutWriter();
    for (const { vb, key } of keys) {
      const found = this.vbuckets.get(vb)?.byKey.get(key.toString('latin1'));
      if (found === undefined) continue;
      writer.begin(0);
      writer.encodedItem(found.encoded);
      writer.finish(stateOfVbucket(vb));
    }
    return writer.drain();
  }

  expiredKeys({ after, atSeconds, limit }: ExpiredKeysRequest): ExpiredKey[] {
    const found: ExpiredKey[] = [];
    for (const batch of this.batches()) {
      const reader = new CutReader(batch);
      while (reader.nextCut()) {
        while (reader.nextItem()) {
          const { buffer, expiry, keyEnd, keyStart } = reader.item;
          if (isExpired(reader.item, atSeconds))
            found.push({ vb: reader.state.vb, key: Buffer.from(buffer.subarray(keyStart, keyEnd)), expiry });
        }
      }
    }
    const order = (a: ExpiredKey, b: ExpiredKey): number =>
      a.expiry - b.expiry || a.vb - b.vb || Buffer.compare(a.key, b.key);
    return found
      .filter((key) => after === null || order(key, after) > 0)
      .sort(order)
      .slice(0, limit);
  }

  collectionKeys({ prefix, after, limit }: CollectionKeysRequest): DocumentKey[] {
    const keys = this.sorted().flatMap(({ record, byKey }) => {
      const live = [...byKey].filter(([, { encoded }]) => !isDeleted(encoded));
      return live.map(([key]) => ({ vb: record.vb, key: Buffer.from(key, 'latin1') }));
    });
    const matching = keys.filter(({ key }) => Buffer.compare(key.subarray(0, prefix.length), prefix) === 0);
    const isLater = (left: DocumentKey, right: DocumentKey): boolean =>
      left.vb > right.vb || (left.vb === right.vb && Buffer.compare(left.key, right.key) > 0);
    matching.sort((a, b) => (isLater(a, b) ? 1 : -1));
    return matching.filter((row) => after === null || isLater(row, after)).slice(0, limit);
  }

  *batches(values: () => LoadedValues = () => 'all'): Generator<CutBuffer> {
    const writer = new CutWriter();
    for (const vbucket of this.sorted()) {
      const { record } = vbucket;
      const items = itemsByKey(vbucket);
      let from = 0;
      while (from < items.length) {
        const to = endOfBatch(items, from, writer.bytes);
        const part = items.slice(from, to);
        writeCut(writer, stateOf(record), part, values());
        if (writer.bytes >= batchTargetBytes) yield writer.drain();
        from = to;
      }
    }
    if (writer.bytes > 0) yield writer.drain();
  }

  /** All rows in one page. */
  largeItems(after: number): LargeItems {
    const writer = new CutWriter();
    for (const vbucket of after === 0 ? this.sorted() : []) {
      const large = itemsByKey(vbucket).filter(({ encoded }) => isLarge(encoded));
      if (large.length > 0) writeCut(writer, stateOfVbucket(vbucket.record.vb), large);
    }
    return { batch: writer.drain(), next: after === 0 ? 1 : null };
  }

  backfill(vb: number, afterSeqno: number, targetBytes = batchTargetBytes): BackfillPage {
    const vbucket = this.vbuckets.get(vb);
    if (vbucket === undefined) return { batch: new Uint8Array(0), toSeqno: 0, endSeqno: 0, purgeSeqno: 0 };
    const { highSeqno: endSeqno, purgeSeqno } = vbucket.record;
    const items = itemsBySeqno(vbucket).filter(({ seqno }) => seqno > afterSeqno);
    const to = endOfBatch(items, 0, batchTargetBytes - targetBytes);
    const writer = new CutWriter();
    const toSeqno = to < items.length ? (items[to - 1]?.seqno ?? 0) : endSeqno;
    const state = { ...stateOf(vbucket.record), startSeqno: items[0]?.seqno ?? 0, endSeqno: toSeqno };
    if (to > 0) writeCut(writer, state, items.slice(0, to));
    return { batch: writer.drain(), toSeqno, endSeqno, purgeSeqno };
  }

  /** Drops tombstones of deletions before this second. */
  purge(beforeSeconds: number): PurgedVbucket[] {
    return this.sorted()
      .map((vbucket) => purge(vbucket, beforeSeconds))
      .filter(({ purgeSeqno }) => purgeSeqno > 0);
  }

  itemCount(): number {
    return this.sorted().reduce((sum, { byKey }) => sum + byKey.size, 0);
  }

  dataBytes(): number {
    const items = this.sorted().flatMap(({ byKey }) => [...byKey.values()]);
    return items.reduce((sum, { encoded }) => sum + encoded.length, 0);
  }

  private sorted(): StoredVbucket[] {
    return [...this.vbuckets.values()].sort((a, b) => a.record.vb - b.record.vb);
  }

  private check(cuts: CutBuffer): void {
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      const { vb } = reader.state;
      const keyOfSeqno = new Map<number, string>();
      while (reader.nextItem()) {
        const { seqno } = reader.item;
        const key = keyText(reader.item);
        const holder = keyOfSeqno.get(seqno) ?? this.vbuckets.get(vb)?.bySeqno.get(seqno) ?? key;
        if (holder !== key) throw new Error(`two keys of vbucket ${vb} have seqno ${seqno}`);
        keyOfSeqno.set(seqno, key);
      }
    }
  }

  private vbucketOf(vb: number): StoredVbucket {
    const present = this.vbuckets.get(vb);
    if (present !== undefined) return present;
    const created = { record: {} as VbucketRecord, byKey: new Map(), bySeqno: new Map() };
    this.vbuckets.set(vb, created);
    return created;
  }
}

const itemsBySeqno = ({ byKey }: StoredVbucket) => [...byKey.values()].sort((a, b) => a.seqno - b.seqno);
const itemsByKey = ({ byKey }: StoredVbucket) =>
  [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);

function put(vbucket: StoredVbucket, item: CutItem): void {
  const key = keyText(item);
  const old = vbucket.byKey.get(key);
  if (old !== undefined) vbucket.bySeqno.delete(old.seqno);
  const encoded = Buffer.from(item.buffer.subarray(item.keyStart - cutItemBytes, item.valueEnd));
  vbucket.byKey.set(key, { seqno: item.seqno, encoded });
  vbucket.bySeqno.set(item.seqno, key);
}

/** Whether the vbucket can have the items of the cut that is read. */
function mayHold({ bySeqno }: StoredVbucket, reader: CutReader, endSeqno: number): boolean {
  const seqnos = new Set<number>();
  while (reader.nextItem()) {
    const { seqno } = reader.item;
    if (seqno > endSeqno || seqnos.has(seqno)) return false;
    if ((bySeqno.get(seqno) ?? keyText(reader.item)) !== keyText(reader.item)) return false;
    seqnos.add(seqno);
  }
  return !reader.nextCut();
}

const isDeleted = (encoded: Buffer): boolean => ((encoded[itemBitsAt] as number) & CutBits.deleted) !== 0;

function purge(vbucket: StoredVbucket, beforeSeconds: number): PurgedVbucket {
  const { vb, highSeqno } = vbucket.record;
  const purged = { vb, upToSeqno: highSeqno, purgeSeqno: 0, tombstones: 0 };
  for (const [key, { seqno, encoded }] of vbucket.byKey) {
    if (!isDeleted(encoded) || encoded.readUInt32BE(itemExpiryAt) >= beforeSeconds) continue;
    vbucket.byKey.delete(key);
    vbucket.bySeqno.delete(seqno);
    purged.purgeSeqno = Math.max(purged.purgeSeqno, seqno);
    if (!isEventKey(encoded, cutItemBytes)) purged.tombstones++;
  }
  vbucket.record = purgedRecord(vbucket.record, purged);
  return purged;
}

function endOfBatch(items: readonly { encoded: Buffer }[], from: number, bytesBefore: number): number {
  let bytes = bytesBefore;
  let to = from;
  while (to < items.length && (to === from || bytes < batchTargetBytes)) {
    bytes += (items[to] as { encoded: Buffer }).encoded.length;
    to++;
  }
  return to;
}

function writeCut(
  writer: CutWriter,
  state: CutState,
  items: readonly { seqno: number; encoded: Buffer }[],
  values: LoadedValues = 'all',
): void {
  writer.begin(state.failover.length);
  for (const { encoded } of items) {
    writer.encodedItem(encoded);
    const hasValue = encoded.readUInt32BE(itemValueBytesAt) > 0 && !isEventKey(encoded, cutItemBytes);
    if (hasValue && (values === 'none' || (values === 'small' && isLarge(encoded)))) writer.dropValue();
  }
  writer.finish(state);
}

const isLarge = (encoded: Buffer): boolean => encoded.readUInt32BE(itemValueBytesAt) > smallValueMax;
