// Reads the versions of given keys in an active vbucket that are not above a seqno. A copy that rolls back to that seqno needs them.
import {
  type CutItem,
  CutReader,
  CutWriter,
  emptyCutItem,
  itemBytes,
  keyText,
  stateOfVbucket,
} from '../../data/cut.ts';
import { type CutBuffer, fileOf } from '../../data/disk-engine.ts';
import { Bit } from '../../memory/layout.ts';
import { fillCutItem } from '../../vbucket/cut-item.ts';
import { emptyPosition } from '../../vbucket/item-position.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { Storage } from '../keys/read-rows.ts';

/** An answer has at most this size, or one document. */
const answerBytes = 1024 * 1024;
/** Documents of one answer that are read from disk: each may have the largest size. */
const readsMax = 8;

export interface OlderVersions {
  /** How many of the keys, from the first on, are answered. */
  readonly answered: number;
  /** The highest seqno of the answered keys that changed after `upTo`; 0: none did. */
  readonly newest: number;
  /** One cut with the versions. What is left out is newer, or the vbucket has no such key. */
  readonly batch: CutBuffer;
}

export interface OlderVersionsOptions {
  vbuckets: Vbuckets;
  residency: Residency;
  storage: Storage | undefined;
}

export interface OlderVersionsRequest {
  readonly vb: number;
  readonly upTo: number;
  readonly keys: readonly Buffer[];
}

/** @throws Error when the disk cannot be read. */
export async function olderVersions(
  options: OlderVersionsOptions,
  request: OlderVersionsRequest,
): Promise<OlderVersions> {
  const unread = request.keys.filter((key) => findInMemory(options, request, key) === 'unread');
  const reads = unread.slice(0, readsMax);
  const stored = await storedItems(options, request.vb, reads);
  // Memory is looked up again, since documents may have changed during the read. Where it still lacks a version, the one that was read is used,
  // even if it was replaced meanwhile: changes made during the read have seqnos above `upTo`.
  const writer = new CutWriter();
  writer.begin(0);
  let [newest, answered, versions] = [0, 0, 0];
  for (const key of request.keys) {
    const inMemory = findInMemory(options, request, key);
    const found = inMemory === 'unread' ? stored.get(nameOf(key)) : inMemory;
    if (found === undefined) break;
    if (found !== null && found.seqno > request.upTo) newest = Math.max(newest, found.seqno);
    else if (found !== null) {
      // One version is sent even where it is larger than an answer.
      if (versions > 0 && writer.bytes + itemBytes(found) > answerBytes) break;
      writer.item(found);
      versions++;
    }
    answered++;
  }
  writer.finish(stateOfVbucket(request.vb));
  return { answered, newest, batch: writer.takeAll() };
}

const nameOf = (key: Buffer): string => key.toString('latin1');

/** By key; null where the disk has none. */
async function storedItems({ storage }: OlderVersionsOptions, vb: number, keys: readonly Buffer[]) {
  const found = new Map<string, CutItem | null>(keys.map((key) => [nameOf(key), null]));
  if (keys.length === 0 || storage === undefined) return found;
  const { bucketUuid, fileCount } = storage.files;
  const wanted = keys.map((key) => ({ vb, key }));
  const { batch, damaged } = await storage.disk.fetchItems(bucketUuid, fileOf(vb, fileCount), wanted);
  if (damaged.length > 0) throw new Error(`a row of vbucket ${vb} is damaged`);
  const reader = new CutReader(batch);
  while (reader.nextCut())
    while (reader.nextItem()) {
      found.set(keyText(reader.item), { ...reader.item });
    }
  return found;
}

/** `unread`: the value, or the whole version, is on disk only. */
function findInMemory(
  { residency, vbuckets }: OlderVersionsOptions,
  { upTo, vb }: OlderVersionsRequest,
  key: Buffer,
): CutItem | 'unread' | null {
  const { items } = vbuckets;
  const hash = vbuckets.hash(key, 0, key.length);
  const address = vbuckets.locate(emptyPosition(), vb, hash, key, 0, key.length);
  if (address === 0) return residency.mayBeOnDisk(vb, hash, key, 0, key.length) ? 'unread' : null;
  const isValueMissing = (items.state(address) & Bit.valueNonResident) !== 0;
  if (isValueMissing && items.seqno(address) <= upTo) return 'unread';
  const item = emptyCutItem();
  fillCutItem(items, address, item);
  return item;
}
