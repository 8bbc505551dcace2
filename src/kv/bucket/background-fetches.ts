// Reads from disk what clients ask for and memory does not hold: per file one batch at a time, of what has gathered
// meanwhile; one read for all who wait for a key.
import type { Clock } from '#ports/clock.ts';
import { Status } from '#wire/status.ts';
import { type CutItem, CutReader } from '../data/cut.ts';
import { type DiskEngine, type Fetched, fileOf } from '../data/disk-engine.ts';
import type { Timings } from './timings.ts';

/** Keys that are waited for; more are told to come back later. */
const fetchLimit = 16_384;
const batchLimit = 1024;
/** What memory has no room for is read again this often, for so long: room is made meanwhile. */
const roomRetryMs = 20;
const roomPatienceMs = 2_000;

/** Told success when asking again makes sense, else the status to answer. */
export type WhenFetched = (status: Status) => void;

/** Told what the disk has, good until the call returns: null where there is no such key, a status where it can't be read. */
export type WhenRead = (found: CutItem | null | Status) => void;

export interface BackgroundFetchesOptions {
  disk: DiskEngine;
  bucketUuid: string;
  fileCount: number;
  clock: Clock;
  timings: Timings;
  tick: () => void;
  /** Takes an item in; false when there is no memory for it. */
  take: (row: number, item: CutItem) => boolean;
  /** The disk has no such key. */
  noteAbsent: (row: number, key: Buffer) => void;
}

interface Waiting {
  vb: number;
  key: Buffer;
  sinceMs: number;
  /** The item comes back into memory for these. */
  done: WhenFetched[];
  readers: WhenRead[];
}

interface FileQueue {
  waiting: Map<string, Waiting>;
  reading: Map<string, Waiting>;
  isBusy: boolean;
}

export class BackgroundFetches {
  /** Documents read since start. */
  fetched = 0;
  private readonly options: BackgroundFetchesOptions;
  private readonly files: FileQueue[];
  private count = 0;
  /** Raised when all who wait are sent away: answers that come later are for nobody. */
  private life = 0;

  constructor(options: BackgroundFetchesOptions) {
    this.options = options;
    this.files = Array.from({ length: options.fileCount }, emptyQueue);
  }

  /** Brings the item back into memory. */
  add(vb: number, key: Buffer, done: WhenFetched): void {
    const waiting = this.waitFor(vb, key);
    if (waiting) waiting.done.push(done);
    else done(Status.temporaryFailure);
  }

  /** Reads the item past memory. */
  read(vb: number, key: Buffer, tell: WhenRead): void {
    const waiting = this.waitFor(vb, key);
    if (waiting) waiting.readers.push(tell);
    else tell(Status.temporaryFailure);
  }

  /** Null when too many keys are waited for. */
  private waitFor(vb: number, key: Buffer): Waiting | null {
    const file = this.files[fileOf(vb, this.files.length)] as FileQueue;
    const name = nameOf(vb, key);
    const present = file.waiting.get(name) ?? file.reading.get(name);
    if (present) return present;
    if (this.count >= fetchLimit) return null;
    this.count++;
    const waiting = { vb, key, sinceMs: this.options.clock.monotonicMs(), done: [], readers: [] };
    file.waiting.set(name, waiting);
    this.begin(file);
    return waiting;
  }

  /** Sends all who wait away. */
  clear(): void {
    this.life++;
    const all = this.files.flatMap((file) => [...file.waiting.values(), ...file.reading.values()]);
    this.files.splice(0, Infinity, ...this.files.map(emptyQueue));
    this.count = 0;
    for (const { done, readers } of all)
      for (const tell of [...done, ...readers]) tell(Status.temporaryFailure);
  }

  private begin(file: FileQueue): void {
    if (file.isBusy) return;
    file.isBusy = true;
    const { life } = this;
    this.options.clock.soon(() => void this.work(file, life));
  }

  private async work(file: FileQueue, life: number): Promise<void> {
    while (life === this.life && file.waiting.size > 0) {
      const batch = takeBatch(file);
      const fetched = await this.ask(file, batch);
      if (life !== this.life) return;
      this.options.tick();
      if (this.deliver(file, batch, fetched)) await this.options.clock.sleep(roomRetryMs);
    }
    file.isBusy = false;
  }

  private async ask(file: FileQueue, batch: readonly Waiting[]): Promise<Fetched | null> {
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

  /** Answers whether some of the batch wait on, for room in memory. */
  private deliver(file: FileQueue, batch: readonly Waiting[], fetched: Fetched | null): boolean {
    file.reading.clear();
    this.count -= batch.length;
    const lost = new Set(fetched?.failed.map((place) => batch[place]));
    const refused = fetched ? this.takeAll(batch, fetched, lost) : new Set<Waiting>();
    const again = new Set([...refused].filter((waiting) => this.isPatient(waiting)));
    for (const waiting of again) this.putBack(file, waiting);
    const over = again.size === 0 ? batch : batch.filter((waiting) => !again.has(waiting));
    this.fetched += over.length;
    for (const waiting of over) {
      const isLost = fetched === null || lost.has(waiting);
      const status = isLost || refused.has(waiting) ? Status.temporaryFailure : Status.success;
      for (const tell of waiting.done) tell(status);
      if (isLost) for (const tell of waiting.readers) tell(Status.temporaryFailure);
    }
    return again.size > 0;
  }

  private isPatient({ sinceMs }: Waiting): boolean {
    return this.options.clock.monotonicMs() - sinceMs < roomPatienceMs;
  }

  private putBack(file: FileQueue, waiting: Waiting): void {
    this.count++;
    waiting.readers.length = 0;
    file.waiting.set(nameOf(waiting.vb, waiting.key), waiting);
  }

  /** Items come in the order of the batch; what is left out is not there. Answers those for which there was no room. */
  private takeAll(
    batch: readonly Waiting[],
    { batch: cuts }: Fetched,
    lost: ReadonlySet<Waiting | undefined>,
  ): Set<Waiting> {
    const refused = new Set<Waiting>();
    const pass = (waiting: Waiting): void => {
      if (!lost.has(waiting)) this.miss(waiting);
    };
    let next = 0;
    const reader = new CutReader(cuts);
    while (reader.nextCut()) {
      while (reader.nextItem()) {
        const { item, state } = reader;
        for (; !isFor(batch[next] as Waiting, state.vb, item); next++) pass(batch[next] as Waiting);
        const waiting = batch[next++] as Waiting;
        if (!this.give(waiting, item)) refused.add(waiting);
      }
    }
    for (; next < batch.length; next++) pass(batch[next] as Waiting);
    return refused;
  }

  /** False when memory should have it and has no room. */
  private give({ vb, done, readers }: Waiting, item: CutItem): boolean {
    for (const tell of readers) tell(item);
    return done.length === 0 || this.options.take(vb, item);
  }

  private miss({ vb, key, readers }: Waiting): void {
    this.options.noteAbsent(vb, key);
    for (const tell of readers) tell(null);
  }
}

const nameOf = (vb: number, key: Buffer): string => `${vb} ${key.toString('latin1')}`;

const emptyQueue = (): FileQueue => ({ waiting: new Map(), reading: new Map(), isBusy: false });

function takeBatch(file: FileQueue): Waiting[] {
  for (const [name, waiting] of file.waiting) {
    file.waiting.delete(name);
    file.reading.set(name, waiting);
    if (file.reading.size === batchLimit) break;
  }
  return [...file.reading.values()];
}

const isFor = ({ vb, key }: Waiting, itemVb: number, item: CutItem): boolean =>
  vb === itemVb && key.compare(item.buffer, item.keyStart, item.keyEnd) === 0;
