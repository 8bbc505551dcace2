// Reads documents from disk for clients: per file one batch at a time, of the requests that arrived meanwhile; one read for all
// that wait for a key. Every waiting call gets the document, whether or not memory has room for it.
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { type CutItem, CutReader } from '../../data/cut.ts';
import { type DiskEngine, type FetchedItems, fileOf } from '../../data/disk-engine.ts';
import type { FetchedDocument, WhenFetched } from '../../data/documents.ts';
import type { Timings } from '../timings.ts';

/** The most keys that are fetched at one time; requests for further keys get a temporary failure. */
const fetchesMax = 16_384;
const batchMax = 1024;

/** One document to read. */
export interface FetchRequest {
  vb: number;
  key: Buffer;
  /** Seqno of the version whose value is on disk only; 0 when the whole item is. */
  seqno: number;
  /** `VbucketColumns.clears` at the time of the request. */
  clears: number;
}

export interface BackgroundFetchesOptions {
  disk: DiskEngine;
  bucketUuid: string;
  fileCount: number;
  clock: Clock;
  timings: Timings;
  /** Updates the current time, which does not pass within a turn. */
  tick: () => void;
  /** Stores an item in memory; false when there is no room for it. */
  store: (request: FetchRequest, item: CutItem) => boolean;
  /** False where the vbucket was emptied or rolled back since the request: what was read may be a row that was removed. */
  isCurrent: (request: FetchRequest) => boolean;
  /** Called when the disk has no such key. */
  noteAbsent: (vb: number, key: Buffer) => void;
  /** Called when a row fails its check. */
  noteDamaged: (vb: number) => void;
}

interface PendingFetch extends FetchRequest {
  sinceMs: number;
  /** At least one waiting call needs it in memory. */
  loads: boolean;
  done: WhenFetched[];
}

interface FileQueue {
  waiting: Map<string, PendingFetch>;
  reading: Map<string, PendingFetch>;
  isBusy: boolean;
}

export class BackgroundFetches {
  /** Documents read since start. */
  fetched = 0;
  private readonly options: BackgroundFetchesOptions;
  private readonly files: FileQueue[];
  private count = 0;
  /** Raised when `clear` fails all waiting calls: later results of the disk are ignored. */
  private epoch = 0;

  constructor(options: BackgroundFetchesOptions) {
    this.options = options;
    this.files = Array.from({ length: options.fileCount }, emptyQueue);
  }

  /** Reads the item and loads it into memory. */
  load(request: FetchRequest, done: WhenFetched): void {
    const pending = this.enqueue(request);
    if (!pending) {
      done(Status.temporaryFailure);
      return;
    }
    pending.loads = true;
    pending.done.push(done);
  }

  /** Reads the item without loading it into memory. */
  read(request: FetchRequest, done: WhenFetched): void {
    const pending = this.enqueue(request);
    if (pending) pending.done.push(done);
    else done(Status.temporaryFailure);
  }

  /** Null when too many keys are being fetched. */
  private enqueue(request: FetchRequest): PendingFetch | null {
    const file = this.files[fileOf(request.vb, this.files.length)] as FileQueue;
    const name = nameOf(request);
    const reading = file.reading.get(name);
    // A read of an older version may have read the row before the newer version was written.
    if (reading?.seqno === request.seqno) return reading;
    const present = file.waiting.get(name);
    if (present) return Object.assign(present, { seqno: request.seqno });
    if (this.count >= fetchesMax) return null;
    this.count++;
    const pending = { ...request, sinceMs: this.options.clock.monotonicMs(), loads: false, done: [] };
    file.waiting.set(name, pending);
    this.begin(file);
    return pending;
  }

  /** Fails all waiting calls. */
  clear(): void {
    this.epoch++;
    const all = this.files.flatMap((file) => [...file.waiting.values(), ...file.reading.values()]);
    this.files.splice(0, Infinity, ...this.files.map(emptyQueue));
    this.count = 0;
    for (const { done } of all) for (const answer of done) answer(Status.temporaryFailure);
  }

  private begin(file: FileQueue): void {
    if (file.isBusy) return;
    file.isBusy = true;
    const { epoch } = this;
    this.options.clock.soon(() => void this.work(file, epoch));
  }

  private async work(file: FileQueue, epoch: number): Promise<void> {
    while (epoch === this.epoch && file.waiting.size > 0) {
      const batch = takeBatch(file);
      const fetched = await this.fetchBatch(file, batch);
      if (epoch !== this.epoch) return;
      this.options.tick();
      file.reading.clear();
      this.count -= batch.length;
      this.fetched += batch.length;
      if (fetched) this.deliver(batch, fetched);
      else for (const pending of batch) answerAll(pending, Status.temporaryFailure);
    }
    file.isBusy = false;
  }

  private async fetchBatch(file: FileQueue, batch: readonly PendingFetch[]): Promise<FetchedItems | null> {
    const { bucketUuid, clock, disk, timings } = this.options;
    const startedMs = clock.monotonicMs();
    for (const { sinceMs } of batch) timings.fetchWait.add(startedMs - sinceMs);
    try {
      return await disk.fetchItems(bucketUuid, this.files.indexOf(file), batch);
    } catch {
      return null;
    } finally {
      timings.fetch.add(clock.monotonicMs() - startedMs);
    }
  }

  /** Items come in the order of the batch; keys that are left out do not exist. */
  private deliver(batch: readonly PendingFetch[], { batch: cuts, damaged: positions }: FetchedItems): void {
    const damaged = new Set(positions);
    let next = 0;
    const deliverMissing = (): void => this.deliverNone(batch[next] as PendingFetch, damaged.has(next++));
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      while (reader.nextItem()) {
        const { item, state } = reader;
        while (!isFor(batch[next] as PendingFetch, state.vb, item)) deliverMissing();
        this.deliverItem(batch[next++] as PendingFetch, { ...item });
      }
    }
    while (next < batch.length) deliverMissing();
  }

  private deliverItem(pending: PendingFetch, item: CutItem): void {
    if (this.failOutdated(pending)) return;
    const lacksRoom = pending.loads && !this.options.store(pending, item);
    answerAll(pending, fetchedOf(pending, item, lacksRoom));
  }

  private deliverNone(pending: PendingFetch, isDamaged: boolean): void {
    if (this.failOutdated(pending)) return;
    if (!isDamaged) this.options.noteAbsent(pending.vb, pending.key);
    else this.options.noteDamaged(pending.vb);
    // Not a temporary failure, since a retry would fail again.
    answerAll(pending, isDamaged ? Status.internalError : fetchedOf(pending, null, false));
  }

  /** Fails the request, and returns true, if its vbucket was emptied or rolled back since. */
  private failOutdated(pending: PendingFetch): boolean {
    if (this.options.isCurrent(pending)) return false;
    answerAll(pending, Status.temporaryFailure);
    return true;
  }
}

const fetchedOf = ({ vb, key }: FetchRequest, item: CutItem | null, lacksRoom: boolean): FetchedDocument => ({
  vb,
  key,
  item,
  lacksRoom,
});

function answerAll({ done }: PendingFetch, fetched: FetchedDocument | Status): void {
  for (const answer of done) answer(fetched);
}

const nameOf = ({ clears, vb, key }: FetchRequest): string => `${vb} ${clears} ${key.toString('latin1')}`;

const emptyQueue = (): FileQueue => ({ waiting: new Map(), reading: new Map(), isBusy: false });

function takeBatch(file: FileQueue): PendingFetch[] {
  for (const [name, pending] of file.waiting) {
    file.waiting.delete(name);
    file.reading.set(name, pending);
    if (file.reading.size === batchMax) break;
  }
  return [...file.reading.values()];
}

const isFor = ({ vb, key }: PendingFetch, itemVb: number, item: CutItem): boolean =>
  vb === itemVb && key.compare(item.buffer, item.keyStart, item.keyEnd) === 0;
