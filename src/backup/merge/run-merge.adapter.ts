// Merges successive backups of a repository into the newest of them. Its manifest is replaced atomically, after the new data files are
// synced; the other backups are removed only then, so that a crash leaves all backups or the merged one.
import { vbucketCount } from '#client/document-key.ts';
import { type Clock, nextTurn } from '#ports/clock.ts';
import { hexId, type Random } from '#ports/random.ts';
import { diskProblem } from '../archive/archive-file.adapter.ts';
import { BucketChain } from '../archive/bucket-chain.ts';
import { DataWriter } from '../archive/data-file.adapter.ts';
import { finishMerge, writeIntent } from '../archive/merge-intent.adapter.ts';
import { Repository } from '../archive/repository.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { countedBucket } from '../format/collection-counts.ts';
import { FrameBuffer } from '../format/frame.ts';
import type { BackupManifest, BucketRecord, CountedVbucket } from '../format/manifest.ts';
import { mergeVbucket } from './merge-vbucket.ts';

export interface MergeRequest {
  folder: string;
  /** The first and the last backup; absent: the oldest, the newest. */
  start?: string | undefined;
  end?: string | undefined;
  passphrase?: string | undefined;
}

export interface MergeContext {
  clock: Clock;
  random: Random;
  signal: AbortSignal;
  progress(state: { bucket: string; vbuckets: number }): void;
}

export interface MergeResult {
  readonly manifest: BackupManifest;
  /** The backups that were merged, the oldest first. */
  readonly backups: readonly string[];
  /** Buckets of earlier backups that the last one does not have: the merge has removed their documents. */
  readonly bucketsLeftOut: readonly string[];
}

/** @throws BackupError with the reason; the backups are then as before */
export async function runMerge(request: MergeRequest, context: MergeContext): Promise<MergeResult> {
  const repository = Repository.open(request.folder, request.passphrase);
  const lock = Repository.lock(repository.path);
  try {
    finishMerge(repository);
    return await new Merge(repository, request, context).run();
  } catch (error) {
    throw diskProblem(error as Error, repository.path);
  } finally {
    lock.release();
  }
}

class Merge {
  private readonly repository: Repository;
  private readonly context: MergeContext;
  private readonly backups: readonly string[];
  /** The newest first. */
  private readonly chain: readonly BackupManifest[];
  private readonly isCutOff: boolean;
  private readonly newest: BackupManifest;

  constructor(repository: Repository, { start, end }: MergeRequest, context: MergeContext) {
    this.repository = repository;
    this.context = context;
    this.backups = backupsToMerge(repository, start, end);
    const whole = repository.chain(this.backups.at(-1) as string);
    this.chain = whole.filter(({ name }) => name >= (this.backups[0] as string));
    this.isCutOff = this.chain.length < whole.length;
    this.newest = this.chain[0] as BackupManifest;
    this.checkFollowers();
  }

  async run(): Promise<MergeResult> {
    const { repository, newest, backups } = this;
    const generation = (newest.merged?.generation ?? 0) + 1;
    const merged = { id: hexId(this.context.random), generation, backups };
    writeIntent(repository, { end: newest.name, id: merged.id, replaced: backups });
    try {
      const oldest = this.chain.at(-1) as BackupManifest;
      const { type, after, startedAt } = oldest;
      const draft = { ...newest, type, after, startedAt, merged };
      const buckets: BucketRecord[] = [];
      for (const [index, record] of newest.buckets.entries())
        buckets.push(await this.mergeBucket(draft, record, index));
      const bucketsLeftOut = this.missingBuckets();
      const manifest = { ...draft, buckets };
      repository.replaceManifest(manifest, await repository.manifestText(manifest, this.context.clock));
      return { manifest, backups, bucketsLeftOut };
    } finally {
      finishMerge(repository);
    }
  }

  private async mergeBucket(
    draft: BackupManifest,
    record: BucketRecord,
    index: number,
  ): Promise<BucketRecord> {
    const { repository, chain, isCutOff, context } = this;
    using documents = BucketChain.open(repository, chain, record.name, { isCutOff });
    const writer = DataWriter.create(repository.dataPath(draft, index), repository.dataOwner(draft, index));
    try {
      const collections = new Set(record.collections.map(({ id }) => id));
      const frames = new FrameBuffer();
      const vbuckets: CountedVbucket[] = [];
      for (let vb = 0; vb < vbucketCount; vb++) {
        context.signal.throwIfAborted();
        vbuckets.push(mergeVbucket(documents, vb, collections, { writer, frames }));
        context.progress({ bucket: record.name, vbuckets: vb + 1 });
        await nextTurn(context.clock);
      }
      writer.sync();
      return countedBucket({ ...record, bytes: writer.bytes }, vbuckets);
    } finally {
      writer.close();
    }
  }

  /** @throws BackupError when a later backup continues one that would be removed */
  private checkFollowers(): void {
    const removed = new Set(this.backups.slice(0, -1));
    for (const name of this.repository.complete().filter((other) => other > this.newest.name)) {
      const { after } = this.repository.manifest(name);
      if (after !== null && removed.has(after.name))
        throw new BackupError(`backup ${name} continues ${after.name}: merge that one too`);
    }
  }

  private missingBuckets(): string[] {
    const kept = new Set(this.newest.buckets.map(({ name }) => name));
    const earlier = this.backups.flatMap((name) => this.repository.manifest(name).buckets);
    return [...new Set(earlier.map(({ name }) => name))].filter((name) => !kept.has(name));
  }
}

/** Returns the names of the backups, the oldest first. */
function backupsToMerge(
  repository: Repository,
  start: string | undefined,
  end: string | undefined,
): string[] {
  const complete = repository.complete();
  const last = repository.chosen(end);
  const first = start === undefined ? (complete[0] as string) : repository.chosen(start);
  if (first > last) throw new BackupError(`--start: backup ${first} is newer than --end, ${last}`);
  const names = complete.filter((name) => name >= first && name <= last);
  if (names.length < 2)
    throw new BackupError(`a merge needs two or more backups; from ${first} to ${last} there is one`);
  return names;
}
