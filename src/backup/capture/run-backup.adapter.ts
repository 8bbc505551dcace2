// One backup: all chosen buckets of a node into a new folder of a repository, or the rest of a backup that was interrupted.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { StatusError } from '#client/data-port-error.ts';
import type { Clock } from '#ports/clock.ts';
import { hexId, type Random } from '#ports/random.ts';
import { Status } from '#wire/status.ts';
import { diskProblem } from '../archive/archive-file.adapter.ts';
import { DataWriter } from '../archive/data-file.adapter.ts';
import { finishMerge } from '../archive/merge-intent.adapter.ts';
import { type InterruptedBackup, Repository } from '../archive/repository.adapter.ts';
import { BackupError, MissingBucketError } from '../format/backup-error.ts';
import { countedBucket } from '../format/collection-counts.ts';
import {
  archiveVersion,
  type BackupManifest,
  type BucketRecord,
  bucketsMax,
  type CountedVbucket,
  formatName,
  type IndexRecord,
} from '../format/manifest.ts';
import { type BackupNode, type NodeBucket, type Scopes, typesWithoutStreams } from '../node/backup-node.ts';
import { captureBucket } from './bucket-capture.ts';
import { ChosenIndexes } from './chosen-indexes.ts';
import { readPartialFile } from './partial-file.ts';

export interface BackupRequest {
  folder: string;
  /** Empty: all buckets with change streams. */
  buckets: readonly string[];
  /** Not incremental. */
  isFull: boolean;
  /** Removes an interrupted backup instead of completing it. */
  purges: boolean;
  /** Removes an interrupted backup that this one cannot complete, since it is of other buckets or another type. */
  replacesOther?: boolean;
  /** Default: true. */
  withIndexes?: boolean;
  /** Passphrase of an encrypted repository; a new repository is encrypted if it is given. */
  passphrase?: string | undefined;
}

export interface BackupContext {
  node: BackupNode;
  clock: Clock;
  random: Random;
  signal: AbortSignal;
  progress(state: BackupProgress): void;
  /** Called while the repository is still locked; what it throws fails the task, but the backup is complete. */
  completed?(repository: Repository, manifest: BackupManifest): Promise<void>;
}

export interface BackupProgress {
  readonly bucket: string;
  readonly documents: number;
  /** About how many documents the bucket has; null for an incremental backup, which has an unknown part of them. */
  readonly expected: number | null;
}

export interface BackupResult {
  readonly manifest: BackupManifest;
  /** Whether the task completed a backup that an earlier task had begun. */
  readonly isResumed: boolean;
  /** Buckets without change streams, which are not in the backup. */
  readonly skippedBuckets: readonly string[];
  /** The user may not read the definitions of indexes: they are not in the backup. */
  readonly lacksIndexes: boolean;
  /** Indexes that a manifest cannot have, with the reasons. */
  readonly indexNotes: readonly string[];
  /** Why the backup is full although an incremental one was requested; null: it is as requested. */
  readonly notContinued: string | null;
}

/** @throws BackupError with the reason; what was captured then is a partial backup, which the next call completes */
export async function runBackup(request: BackupRequest, context: BackupContext): Promise<BackupResult> {
  const source = await context.node.identity();
  const chosen = await chosenBuckets(request, context.node);
  const folder = resolve(request.folder);
  try {
    Repository.prepareFolder(folder);
    return await backUp(request, context, source, chosen);
  } catch (error) {
    throw diskProblem(error as Error, folder);
  }
}

async function backUp(
  request: BackupRequest,
  context: BackupContext,
  source: BackupManifest['source'],
  chosen: { buckets: NodeBucket[]; skipped: string[] },
): Promise<BackupResult> {
  const lock = Repository.lock(request.folder);
  try {
    const repository = Repository.openOrCreate(request.folder, context.random, request.passphrase);
    finishMerge(repository);
    const beginning = resumeOrBegin(repository, request, context, chosen.buckets);
    const task = new BackupTask(repository, beginning, context, request.withIndexes ?? true);
    const manifest = await task.run(chosen.buckets, source);
    await context.completed?.(repository, manifest);
    return {
      manifest,
      isResumed: beginning.isResumed,
      skippedBuckets: chosen.skipped,
      lacksIndexes: task.lacksIndexes,
      indexNotes: task.chosenIndexes.notes,
      notContinued: beginning.notContinued,
    };
  } finally {
    lock.release();
  }
}

async function chosenBuckets(
  { buckets: names }: BackupRequest,
  node: BackupNode,
): Promise<{ buckets: NodeBucket[]; skipped: string[] }> {
  const present = await node.buckets();
  const hasStreams = ({ settings }: NodeBucket): boolean =>
    !typesWithoutStreams.has(String(settings['bucketType']));
  for (const name of names) {
    const found = present.find((bucket) => bucket.name === name);
    if (found === undefined) throw new MissingBucketError(`--bucket: the node has no bucket "${name}"`);
    if (!hasStreams(found))
      throw new BackupError(`--bucket: "${name}" is of type cache, whose documents cannot be backed up`);
  }
  const named = names.length === 0 ? present : present.filter(({ name }) => names.includes(name));
  const buckets = named.filter(hasStreams).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (buckets.length === 0) throw new BackupError('the node has no bucket to back up');
  if (buckets.length > bucketsMax)
    throw new BackupError(
      `--bucket: a backup has at most ${bucketsMax} buckets, the node has ${buckets.length}: name some, and give the others a folder of their own`,
    );
  return { buckets, skipped: named.filter((bucket) => !hasStreams(bucket)).map(({ name }) => name) };
}

interface Beginning {
  partial: InterruptedBackup;
  /** The backup that this one continues; null: it is a full one. */
  continued: BackupManifest | null;
  isResumed: boolean;
  notContinued: string | null;
}

function resumeOrBegin(
  repository: Repository,
  request: BackupRequest,
  context: BackupContext,
  buckets: readonly NodeBucket[],
): Beginning {
  let brokenChain: string | null = null;
  for (const name of repository.partial()) {
    const partial = request.purges ? null : repository.readPartial(name);
    const notResumed = partial && resumptionProblem(partial, request, buckets);
    if (notResumed !== null && request.replacesOther !== true) throw new BackupError(notResumed);
    if (partial !== null && notResumed === null) {
      const { continued, problem } = usableBackup(repository, partial.after);
      if (problem === null) return { partial, continued, isResumed: true, notContinued: null };
      brokenChain = problem;
    }
    repository.remove(name);
  }
  const newest = request.isFull ? undefined : repository.complete().at(-1);
  const { continued, problem } = usableBackup(repository, newest === undefined ? null : { name: newest });
  const after = continued === null ? null : { name: continued.name, id: continued.id };
  const named = buckets.map(({ name, uuid }) => ({ name, uuid }));
  const partial = repository.begin(context.clock, hexId(context.random), { after, buckets: named });
  const notContinued = problem ?? (continued === null ? brokenChain : null);
  return { partial, continued, isResumed: false, notContinued };
}

/** The wanted backup, if its chain is complete: a backup that continues a damaged chain could not be restored. */
function usableBackup(
  repository: Repository,
  wanted: { name: string; id?: string } | null,
): { continued: BackupManifest | null; problem: string | null } {
  if (wanted === null) return { continued: null, problem: null };
  try {
    const continued = repository.chain(wanted.name)[0] as BackupManifest;
    if (wanted.id === undefined || continued.id === wanted.id) return { continued, problem: null };
    return { continued: null, problem: `backup ${wanted.name} was replaced by another one` };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return { continued: null, problem: error.message };
  }
}

/** Why this task cannot complete the interrupted backup; null: it can. */
function resumptionProblem(
  partial: InterruptedBackup,
  request: BackupRequest,
  buckets: readonly NodeBucket[],
): string | null {
  const isSame =
    partial.buckets.length === buckets.length &&
    partial.buckets.every(
      ({ name, uuid }, index) => buckets[index]?.name === name && buckets[index].uuid === uuid,
    );
  if (isSame && !(request.isFull && partial.after !== null)) return null;
  return (
    `backup ${partial.name} was interrupted and is of other buckets or another type (${partial.buckets.map(({ name }) => name).join(', ')}): ` +
    'repeat the command that began it, or remove it with --purge'
  );
}

class BackupTask {
  lacksIndexes = false;
  readonly chosenIndexes = new ChosenIndexes();
  private readonly repository: Repository;
  private readonly partial: InterruptedBackup;
  private readonly continued: BackupManifest | null;
  private readonly context: BackupContext;
  private readonly withIndexes: boolean;

  constructor(
    repository: Repository,
    { partial, continued }: Beginning,
    context: BackupContext,
    withIndexes: boolean,
  ) {
    this.withIndexes = withIndexes;
    this.repository = repository;
    this.partial = partial;
    this.continued = continued;
    this.context = context;
  }

  async run(buckets: readonly NodeBucket[], source: BackupManifest['source']): Promise<BackupManifest> {
    const { partial, repository } = this;
    const records: BucketRecord[] = [];
    const indexes: IndexRecord[][] = [];
    for (const bucket of buckets) indexes.push(await this.indexesOf(bucket.name));
    for (const [index, bucket] of buckets.entries())
      records.push(await this.backUpBucket(bucket, index, indexes[index] ?? []));
    const manifest: BackupManifest = {
      format: formatName,
      version: archiveVersion,
      id: partial.id,
      repository: repository.id,
      name: partial.name,
      type: partial.after === null ? 'full' : 'incremental',
      after: partial.after,
      startedAt: partial.startedAt,
      endedAt: new Date(this.context.clock.wallMs()).toISOString(),
      source,
      buckets: records,
    };
    repository.finish(manifest, await repository.manifestText(manifest, this.context.clock));
    return manifest;
  }

  private async indexesOf(bucket: string): Promise<IndexRecord[]> {
    const found = this.withIndexes ? await this.context.node.indexes(bucket) : [];
    this.lacksIndexes ||= found === null;
    return this.chosenIndexes.of(bucket, found ?? []);
  }

  private async backUpBucket(
    bucket: NodeBucket,
    index: number,
    indexes: readonly IndexRecord[],
  ): Promise<BucketRecord> {
    const { context, partial } = this;
    const { node, signal } = context;
    const { name } = bucket;
    signal.throwIfAborted();
    const previous = this.continued?.buckets.find(
      (record) => record.name === name && record.uuid === bucket.uuid,
    );
    const { writer, completed } = await this.openDataFile(index);
    try {
      const expected = previous === undefined ? bucket.itemCount : null;
      let documents = 0;
      const vbuckets = await captureBucket({
        bucket: name,
        routes: () => node.routes(name),
        checkUnchanged: () => this.checkUnchanged(bucket),
        writer,
        previous: previous?.vbuckets ?? null,
        completed,
        connectionName: `divan-backup-${partial.id}-${index}`,
        clock: context.clock,
        signal,
        progress: (more) => context.progress({ bucket: name, documents: (documents += more), expected }),
      });
      // Read at the end of the backup: frames of collections that were dropped during it are not restored.
      const scopes = await node.scopes(name);
      await this.checkUnchanged(bucket);
      writer.sync();
      const { uuid, settings } = bucket;
      const present = indexes.filter((one) => hasKeyspace(scopes, one));
      const record = { name, uuid, bytes: writer.bytes, settings, ...scopes, indexes: present };
      return countedBucket(record, vbuckets);
    } catch (error) {
      throw await this.explain(error as Error, bucket);
    } finally {
      writer.close();
    }
  }

  /** Opens the data file of a bucket, to append after what an interrupted backup wrote; makes the file if there is none. */
  private async openDataFile(index: number): Promise<{
    writer: DataWriter;
    completed: ReadonlyMap<number, CountedVbucket>;
  }> {
    const { repository, partial, context } = this;
    const path = repository.dataPath(partial, index);
    const owner = repository.dataOwner(partial, index);
    if (!existsSync(path)) return { writer: DataWriter.create(path, owner), completed: new Map() };
    try {
      using reader = repository.data(partial, index);
      const { vbuckets, bytes } = await readPartialFile(reader, context);
      return { writer: DataWriter.reopen(path, owner, bytes), completed: vbuckets };
    } catch (error) {
      if (!(error instanceof BackupError)) throw error;
      // The earlier task was killed before it wrote the header of the file.
      return { writer: DataWriter.create(path, owner), completed: new Map() };
    }
  }

  private async checkUnchanged({ name, uuid }: NodeBucket): Promise<void> {
    const present = await this.context.node.bucket(name);
    if (present === null) throw new BackupError(`bucket "${name}" was deleted during the backup`);
    if (present.uuid !== uuid) throw new BackupError(`bucket "${name}" was replaced during the backup`);
  }

  /** Finds the cause of an error: a bucket that is gone ends its stream without a reason. */
  private async explain(error: Error, bucket: NodeBucket): Promise<Error> {
    const problem = diskProblem(error, this.repository.path);
    if (problem !== error) return problem;
    if (this.context.signal.aborted) return this.context.signal.reason as Error;
    try {
      await this.checkUnchanged(bucket);
    } catch (reason) {
      if (reason instanceof BackupError && !reason.message.startsWith('cannot reach')) return reason;
    }
    if (error instanceof BackupError) return error;
    const mayNotRead = error instanceof StatusError && error.status === Status.noAccess;
    const text = mayNotRead ? 'the user may not read its changes (role data_backup)' : error.message;
    return new BackupError(`bucket "${bucket.name}": ${text}`);
  }
}

/** Whether the collection of an index still exists: it may have been dropped during the backup. */
const hasKeyspace = ({ collections }: Scopes, { scope, collection }: IndexRecord): boolean =>
  scope === undefined || collections.some((one) => one.scope === scope && one.name === collection);
