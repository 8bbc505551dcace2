// One restore: the newest versions of a backup and of those that it continues, written into buckets of a node, vbucket by vbucket.

import { DataPortError } from '#client/data-port-error.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { Clock } from '#ports/clock.ts';
import { BucketChain } from '../archive/bucket-chain.ts';
import { findBackup, namedBackup, Repository } from '../archive/repository.adapter.ts';
import { BackupError, MissingBucketError } from '../format/backup-error.ts';
import { FrameKind } from '../format/frame.ts';
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';
import type { BackupNode } from '../node/backup-node.ts';
import { type Destinations, prepareDestinations } from './definitions.ts';
import type { DocumentSelection, SelectionRequest } from './document-selection.ts';
import { dropCollections } from './dropped-collections.ts';
import { flushTargets } from './flush-targets.ts';
import { lacksNodes, withReplicas } from './index-definition.ts';
import { NameFilter } from './name-filter.ts';
import { NameMap } from './name-map.ts';
import { ProgressFile } from './progress-file.adapter.ts';
import { RestoreProgress } from './restore-progress.ts';
import { RestoreRecord } from './restore-record.adapter.ts';
import { TargetBucket } from './target-bucket.ts';
import { UnrestoredDocuments } from './unrestored-documents.ts';

export interface RestoreRequest {
  /** A repository, or the folder of one backup in it. */
  folder: string;
  /** A backup of the repository; absent: the newest. */
  backup?: string | undefined;
  /** The oldest backup whose changes are restored; absent: the full backup at the start of the chain. */
  start?: string | undefined;
  selection?: SelectionRequest;
  /** Passphrase of an encrypted repository. */
  passphrase?: string | undefined;
  /** Buckets of the backup that are restored; empty: all. */
  buckets: readonly string[];
  /** Rules `a=b`. */
  map: readonly string[];
  /** Flushes the target buckets first. */
  replaces: boolean;
  /** The versions of the backup replace newer ones. */
  isForced: boolean;
  /** Creates missing buckets; otherwise they end the restore. */
  createsBuckets: boolean;
  withIndexes: boolean;
  /** Default: true. */
  withDocuments?: boolean;
  /** Restores only these buckets, scopes and collections, as `bucket.scope.collection`; empty or absent: all. */
  includes?: readonly string[];
  /** Leaves these buckets, scopes and collections out. */
  excludes?: readonly string[];
  /** Drops scopes and collections of the target that an earlier backup has and the last one does not, as far as they are chosen. */
  removesCollections?: boolean;
  /** Gives existing buckets the settings of the backup. */
  appliesBucketSettings?: boolean;
  /** Continues an interrupted restore, and its flushes. Not together with `replaces`. Refused if no restore was interrupted. */
  resumes: boolean;
  /** Resolves only when everything is on disk. */
  awaitsDisk: boolean;
}

export interface RestoreContext {
  node: BackupNode;
  clock: Clock;
  signal: AbortSignal;
  progress(state: { bucket: string; documents: number; expected: number }): void;
}

export interface RestoredBucket {
  readonly bucket: string;
  readonly targets: readonly string[];
  readonly documents: number;
  readonly deletions: number;
  /** Versions that the target did not store, because it had them or newer ones. */
  readonly skipped: number;
  /** Documents whose collection the target does not have and cannot create. */
  readonly leftOut: number;
  /** Versions that the filters left out. */
  readonly filtered: number;
}

export interface RestoreResult {
  readonly backup: string;
  readonly buckets: readonly RestoredBucket[];
  readonly indexes: number;
  /** For the user: created buckets, and indexes that were left out. */
  readonly notes: readonly string[];
  /** Indexes that could not be created. */
  readonly problems: readonly string[];
}

const progressEveryMs = 1_000;

/** @throws BackupError with the reason and how far the restore got */
export async function runRestore(request: RestoreRequest, context: RestoreContext): Promise<RestoreResult> {
  const { repository, name } = findBackup(request.folder, request.passphrase);
  // A merge meanwhile would remove what the restore reads.
  const lock = Repository.share(repository.path);
  try {
    return await restoreFrom(repository, namedBackup(name, request.backup), request, context);
  } catch (error) {
    if (!(error instanceof DataPortError)) throw error;
    throw new BackupError(`the data port of the node: ${error.message}`, { cause: error });
  } finally {
    lock.release();
  }
}

/** The buckets of the target that a restore writes to, by name. @throws BackupError with what is wrong with the request */
export function bucketsWritten(request: RestoreRequest): string[] {
  const { repository, name } = findBackup(request.folder, request.passphrase);
  const { chain } = chosenChain(repository, namedBackup(name, request.backup), request.start);
  const newest = chain[0] as BackupManifest;
  const map = new NameMap(request.map, newest.buckets);
  const names = chosenRecords(request, chain).flatMap(({ name: bucket, scopes, collections }) => [
    ...scopes.map((scope) => map.scopeOf(bucket, scope).bucket),
    ...collections.map((one) => map.targetOf({ bucket, scope: one.scope, collection: one.name }).bucket),
  ]);
  return [...new Set(names)];
}

async function restoreFrom(
  repository: Repository,
  backup: string | undefined,
  request: RestoreRequest,
  context: RestoreContext,
): Promise<RestoreResult> {
  const { chain, isCutOff } = chosenChain(repository, backup, request.start);
  const newest = chain[0] as BackupManifest;
  const records = chosenRecords(request, chain);
  const map = new NameMap(request.map, newest.buckets);
  map.checkTargets(records);
  const newSelection = await selector(request, context.clock);
  const { cluster } = await context.node.identity();
  const record = new RestoreRecord(repository.path, {
    backup: newest.name,
    id: newest.id,
    map: request.map,
    cluster,
  });
  const source = { repository, chain, isCutOff, map, cluster };
  const restore = new Restore(request, context, source, newSelection);
  await restore.flush(records, record);
  const buckets: RestoredBucket[] = [];
  for (const bucket of records) buckets.push(await restore.restoreBucket(bucket));
  const indexes = request.withIndexes ? await restore.createIndexes(records) : 0;
  record.remove();
  return { backup: newest.name, buckets, indexes, notes: restore.notes, problems: restore.problems };
}

const filterOf = ({ includes = [], excludes = [] }: RestoreRequest): NameFilter =>
  new NameFilter({ includes, excludes });

/** With `removesCollections`, `excludes` may also name scopes and collections that only earlier backups have: they are then not dropped. */
function chosenRecords(request: RestoreRequest, chain: readonly BackupManifest[]): BucketRecord[] {
  const [newest, ...others] = chain as [BackupManifest, ...BackupManifest[]];
  const records = chosenBuckets(newest, request.buckets);
  const filter = filterOf(request);
  filter.checkNames(
    records,
    request.removesCollections === true ? others.flatMap(({ buckets }) => buckets) : [],
  );
  return filter.limitedToChosen(records);
}

/** The newest first. */
function chosenChain(
  repository: Repository,
  name: string | undefined,
  start: string | undefined,
): { chain: BackupManifest[]; isCutOff: boolean } {
  const whole = repository.chain(repository.chosen(name));
  if (start === undefined) return { chain: whole, isCutOff: false };
  const first = repository.chosen(start);
  const end = (whole[0] as BackupManifest).name;
  if (first > end) throw new BackupError(`--start: backup ${first} is newer than the last one, ${end}`);
  const chain = whole.filter((manifest) => manifest.name >= first);
  return { chain, isCutOff: chain.length < whole.length };
}

/** The engine of regular expressions is loaded only for a request that selects. */
async function selector(
  { selection }: RestoreRequest,
  clock: Clock,
): Promise<(() => DocumentSelection) | null> {
  if (selection === undefined) return null;
  const { DocumentSelection } = await import('./document-selection.ts');
  const make = (): DocumentSelection => new DocumentSelection(selection, clock.wallMs());
  make();
  return make;
}

function chosenBuckets({ name: backup, buckets }: BackupManifest, wanted: readonly string[]): BucketRecord[] {
  const missing = wanted.find((name) => !buckets.some((bucket) => bucket.name === name));
  if (missing !== undefined)
    throw new MissingBucketError(
      `--bucket: backup ${backup} has no bucket "${missing}"; it has ${buckets.map((bucket) => bucket.name).join(', ')}`,
    );
  return wanted.length === 0 ? [...buckets] : buckets.filter((bucket) => wanted.includes(bucket.name));
}

interface Source {
  readonly repository: Repository;
  /** The newest first. */
  readonly chain: readonly BackupManifest[];
  /** The chain begins after a backup that is not restored. */
  readonly isCutOff: boolean;
  readonly map: NameMap;
  /** The uuid of the target. */
  readonly cluster: string;
}

class Restore {
  readonly notes: string[] = [];
  readonly problems: string[] = [];
  private readonly request: RestoreRequest;
  private readonly context: RestoreContext;
  private readonly source: Source;
  private readonly newSelection: (() => DocumentSelection) | null;
  private canResume = false;

  constructor(
    request: RestoreRequest,
    context: RestoreContext,
    source: Source,
    newSelection: (() => DocumentSelection) | null,
  ) {
    this.request = request;
    this.context = context;
    this.source = source;
    this.newSelection = newSelection;
  }

  /** Records the restore, and flushes the target buckets that need a flush. */
  async flush(records: readonly BucketRecord[], record: RestoreRecord): Promise<void> {
    const { node, signal } = this.context;
    const { repository, chain, map, isCutOff } = this.source;
    const { replaces, resumes, createsBuckets } = this.request;
    const names = records.flatMap(({ name: bucket, collections }) =>
      collections.map(({ scope, name: collection }) => map.targetOf({ bucket, scope, collection }).bucket),
    );
    this.canResume = await flushTargets(new Set(names), {
      node,
      record,
      signal,
      replaces,
      resumes,
      createsBuckets,
      check: () => {
        for (const { name } of records)
          BucketChain.open(repository, chain, name, { isCutOff })[Symbol.dispose]();
      },
    });
  }

  async restoreBucket(record: BucketRecord): Promise<RestoredBucket> {
    const { node, signal, clock } = this.context;
    const { repository, chain, map, isCutOff } = this.source;
    signal.throwIfAborted();
    using documents = BucketChain.open(repository, chain, record.name, { isCutOff });
    const { createsBuckets, isForced } = this.request;
    const destinations = await prepareDestinations(record, map, {
      node,
      createsBuckets,
      appliesSettings: this.request.appliesBucketSettings ?? false,
      note: (text) => this.notes.push(text),
    });
    if (this.request.removesCollections === true)
      await dropCollections(record.name, { node, chain, map, filter: filterOf(this.request) });
    if (this.request.withDocuments === false) return withoutDocuments(record, destinations);
    const targets = new Map<string, TargetBucket>();
    try {
      for (const bucket of destinations.buckets)
        targets.set(bucket.name, await TargetBucket.open({ node, clock, bucket, isForced, signal }));
      return await this.writeDocuments(documents, destinations, targets);
    } finally {
      for (const target of targets.values()) target.close();
    }
  }

  private async writeDocuments(
    documents: BucketChain,
    destinations: Destinations,
    targets: ReadonlyMap<string, TargetBucket>,
  ): Promise<RestoredBucket> {
    const { record } = documents;
    const { clock, signal, progress } = this.context;
    const file = this.progressFile(record, [...targets.values()]);
    const restoreProgress = await RestoreProgress.open(file, [...targets.values()], this.request.resumes);
    const expected = record.vbuckets.reduce((sum, vbucket) => sum + vbucket.documents, 0);
    const unrestored = new UnrestoredDocuments(record, destinations.missing);
    const selection = this.newSelection?.() ?? null;
    let [mutations, deletions] = [0, 0];
    let reportedMs = clock.monotonicMs();
    let vb = restoreProgress.next;
    try {
      for (; vb < vbucketCount; vb++) {
        signal.throwIfAborted();
        for (const frame of documents.newest(vb)) {
          const destination = destinations.collections.get(frame.collectionId);
          if (destination === undefined) {
            unrestored.count(frame);
            continue;
          }
          if (selection !== null && !selection.takes(frame)) continue;
          const target = targets.get(destination.bucket) as TargetBucket;
          const room = target.write(vb, frame, destination.id);
          if (room !== null) await room;
          if (frame.kind === FrameKind.mutation) mutations++;
          else deletions++;
        }
        if (clock.monotonicMs() - reportedMs < progressEveryMs) continue;
        for (const target of targets.values()) await target.drain();
        await restoreProgress.note(vb + 1);
        progress({ bucket: record.name, documents: mutations, expected });
        reportedMs = clock.monotonicMs();
      }
      for (const target of targets.values()) await target.drain();
      if (this.request.awaitsDisk) for (const target of targets.values()) await target.untilPersisted();
    } catch (error) {
      throw this.interrupted(error as Error, record.name, vb);
    }
    file.remove();
    const skipped = [...targets.values()].reduce((sum, target) => sum + target.skipped, 0);
    this.notes.push(...unrestored.notes());
    return {
      bucket: record.name,
      targets: [...targets.keys()],
      documents: mutations,
      deletions,
      skipped,
      leftOut: unrestored.total,
      filtered: selection?.filtered ?? 0,
    };
  }

  private interrupted(error: Error, bucket: string, vb: number): Error {
    const progress = `bucket "${bucket}": ${vb} of ${vbucketCount} vbuckets were restored`;
    const next = this.canResume ? '--resume continues' : 'repeat the command';
    return new BackupError(`${error.message} (${progress}; ${next})`, { cause: error });
  }

  private progressFile({ name }: BucketRecord, targets: readonly TargetBucket[]): ProgressFile {
    const { repository, chain, cluster } = this.source;
    const { map, isForced, start, selection } = this.request;
    return new ProgressFile(repository.path, {
      backup: (chain[0] as BackupManifest).id,
      bucket: name,
      targets: targets.map(({ uuid }) => uuid),
      options: JSON.stringify([map, isForced, cluster, start, selection]),
    });
  }

  /** Creates the missing indexes; resolves with their number. */
  async createIndexes(records: readonly BucketRecord[]): Promise<number> {
    let created = 0;
    for (const { name, indexes } of records) {
      if (indexes.length === 0) continue;
      if (!this.source.map.isEmpty) {
        this.notes.push(
          `${indexes.length} indexes of bucket "${name}" were left out: their definitions name buckets, which --map changes`,
        );
        continue;
      }
      const existing = await this.context.node.indexes(name);
      if (existing === null) {
        this.notes.push(`indexes of bucket "${name}" were left out: the user may not read their definitions`);
        continue;
      }
      const present = new Set(existing.map(({ definition }) => withReplicas(definition, null)));
      for (const { name: index, definition } of indexes) {
        if (present.has(withReplicas(definition, null))) continue;
        const problem = await this.createIndex(definition);
        if (problem === null) created++;
        else this.problems.push(`index "${index}" of bucket "${name}" was not created: ${problem}`);
      }
    }
    return created;
  }

  /** In a smaller cluster the index gets no replicas. */
  private async createIndex(definition: string): Promise<string | null> {
    const { node } = this.context;
    const problem = await node.runStatement(definition);
    if (problem === null || !lacksNodes(problem)) return problem;
    return await node.runStatement(withReplicas(definition, 0));
  }
}

const withoutDocuments = ({ name }: BucketRecord, { buckets }: Destinations): RestoredBucket => ({
  bucket: name,
  targets: buckets.map((bucket) => bucket.name),
  documents: 0,
  deletions: 0,
  skipped: 0,
  leftOut: 0,
  filtered: 0,
});
