// A bucket in a backup and in those that it continues: reads the newest version of each document.
import { BackupError } from '../format/backup-error.ts';
import type { Frame } from '../format/frame.ts';
import type { BackupManifest, BucketRecord, CapturedVbucket } from '../format/manifest.ts';
import type { DataReader } from './data-file.adapter.ts';
import type { Repository } from './repository.adapter.ts';
import { documentsBackwards } from './vbucket-blocks.ts';

interface Link {
  readonly name: string;
  readonly record: BucketRecord;
  readonly data: DataReader;
}

export class BucketChain implements Disposable {
  /** The record of the newest backup, which names the collections that exist. */
  readonly record: BucketRecord;
  private readonly links: readonly Link[];
  private readonly isCutOff: boolean;

  private constructor(links: readonly Link[], isCutOff: boolean) {
    this.links = links;
    this.isCutOff = isCutOff;
    this.record = (links[0] as Link).record;
  }

  /**
   * `manifests`: the backup and those that it continues, the newest first; `isCutOff`: the list ends before the full backup, so that earlier
   * changes are left out. @throws BackupError
   */
  static open(
    repository: Repository,
    manifests: readonly BackupManifest[],
    bucket: string,
    { isCutOff = false } = {},
  ): BucketChain {
    const links: Link[] = [];
    try {
      for (const manifest of manifests) {
        const index = manifest.buckets.findIndex(({ name }) => name === bucket);
        const record = manifest.buckets[index];
        if (record === undefined || record.uuid !== (links[0]?.record ?? record).uuid) break;
        const data = repository.data(manifest, index);
        links.push({ name: manifest.name, record, data });
        if (data.bytes !== record.bytes)
          throw new BackupError(`${data.path} has ${data.bytes} bytes; its manifest states ${record.bytes}`);
      }
      if (links.length === 0) throw new BackupError(`the backup has no bucket "${bucket}"`);
      return new BucketChain(links, isCutOff && links.length === manifests.length);
    } catch (error) {
      for (const { data } of links) data[Symbol.dispose]();
      throw error;
    }
  }

  /** The parts of a vbucket, the newest first, down to the one that begins at the first change. @throws BackupError when one is missing */
  *parts(vb: number): Generator<{ name: string; data: DataReader; vbucket: CapturedVbucket }> {
    let from: number | null = null;
    for (const { name, record, data } of this.links) {
      const vbucket = record.vbuckets[vb] as CapturedVbucket;
      if (from !== null && vbucket.to !== from)
        throw new BackupError(
          `backup ${name}: vbucket ${vb} ends at seqno ${vbucket.to}; the next backup begins at ${from}`,
        );
      yield { name, data, vbucket };
      from = vbucket.from;
      if (from === 0) return;
    }
    if (this.isCutOff) return;
    throw new BackupError(`vbucket ${vb} lacks an earlier backup, which has its changes up to seqno ${from}`);
  }

  /** The newest version of each document of a vbucket, deletions too; a frame is valid until the next one. @throws BackupError */
  *newest(vb: number): Generator<Frame> {
    // Keys of one vbucket only: a thousandth of the bucket.
    const keysByCollection = new Map<number, Set<string>>();
    for (const { data, vbucket } of this.parts(vb))
      for (const frame of documentsBackwards(data, vb, vbucket)) {
        if (addKey(keysByCollection, frame)) yield frame;
      }
  }

  [Symbol.dispose](): void {
    for (const { data } of this.links) data[Symbol.dispose]();
  }
}

/** Adds the key; false if it was there already. */
function addKey(keysByCollection: Map<number, Set<string>>, { collectionId, key }: Frame): boolean {
  let keys = keysByCollection.get(collectionId);
  if (keys === undefined) keysByCollection.set(collectionId, (keys = new Set()));
  const { size } = keys;
  // Latin-1 has a character for every byte, so different keys stay different.
  return keys.add(key.toString('latin1')).size > size;
}
