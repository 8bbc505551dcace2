// Servers of a configuration store in one process, and a node's link to them with the faults of a cluster whose leader changes: lost and
// late requests and answers, requests that arrive twice, writes that are refused and made later, reads from a server that is behind,
// feeds that break. All from one seed.
import {
  type ConfigLink,
  NotSentError,
  type RecordFeed,
  type StoredRecord,
  type StoreTerm,
} from '#replog/mirror/config-link.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';

export class SimulatedServers {
  identity = 'one';
  /** Who stores the configuration: a founder, in an epoch. */
  term: StoreTerm = {};
  log: StoredRecord[] = [];
  readonly feeds = new Set<(record: StoredRecord) => void>();

  newest(key: string, upTo = Number.POSITIVE_INFINITY): StoredRecord | null {
    return this.log.findLast((record) => record.key === key && record.revision <= upTo) ?? null;
  }

  get revision(): number {
    return this.log.at(-1)?.revision ?? 0;
  }

  /** Null: refused. */
  write(record: Omit<StoredRecord, 'revision'>, expectedRevision: number): number | null {
    if ((this.newest(record.key)?.revision ?? 0) !== expectedRevision) return null;
    return this.#store(record);
  }

  /** As `write`, on condition that the newest change of all has this revision. Null: refused. */
  writeLast(record: Omit<StoredRecord, 'revision'>, newest: number): number | null {
    return this.revision === newest ? this.#store(record) : null;
  }

  #store(record: Omit<StoredRecord, 'revision'>): number {
    const stored = { ...record, revision: this.revision + 1 };
    this.log.push(stored);
    for (const feed of this.feeds) feed(stored);
    return stored.revision;
  }
}

export interface LinkFaults {
  delayMaxMs: number;
  /** Percent of the writes whose request is lost; in the same way the answer is lost, and the request arrives twice. */
  lostRequest: number;
  lostAnswer: number;
  doubled: number;
  /** Percent of the writes that are refused, but made some seconds later. */
  refusedThenMade: number;
  /** Percent of the reads that an earlier state answers. */
  stale: number;
  /** Percent of the records at which their feed breaks. */
  brokenFeed: number;
}

export const noFaults: LinkFaults = {
  delayMaxMs: 5,
  lostRequest: 0,
  lostAnswer: 0,
  doubled: 0,
  refusedThenMade: 0,
  stale: 0,
  brokenFeed: 0,
};

const lateMaxMs = 6_000;

export class FaultyConfigLink implements ConfigLink {
  readonly name = 'the simulated servers';
  readonly writeHistoryId = 'records';
  readonly keepsDeletions = true;
  readonly #servers: SimulatedServers;
  readonly #clock: SimulatedClock;
  readonly #random: Random;
  faults = noFaults;
  isDown = false;

  constructor(servers: SimulatedServers, clock: SimulatedClock, random: Random) {
    this.#servers = servers;
    this.#clock = clock;
    this.#random = random;
  }

  async head() {
    await this.#transmit();
    const { identity, revision, term } = this.#servers;
    return { identity, ...term, revision: this.#stale() ? this.#random(revision + 1) : revision };
  }

  async read(key: string): Promise<StoredRecord | null> {
    await this.#transmit();
    const upTo = this.#stale() ? this.#random(this.#servers.revision + 1) : undefined;
    return this.#servers.newest(key, upTo);
  }

  async follow(feed: RecordFeed): Promise<{ stop(): void }> {
    await this.#transmit();
    let isStopped = false;
    let lastMs = 0;
    const inOrder = (call: () => void): void => {
      lastMs = Math.max(lastMs, this.#clock.monotonicMs() + this.#random(this.faults.delayMaxMs + 1));
      this.#clock.after(lastMs - this.#clock.monotonicMs(), () => {
        if (!isStopped) call();
      });
    };
    const stop = (): void => {
      isStopped = true;
      this.#servers.feeds.delete(deliver);
    };
    const deliver = (record: StoredRecord): void => {
      if (!this.#happens(this.faults.brokenFeed) && !this.isDown) {
        inOrder(() => feed.changed(record));
        return;
      }
      stop();
      this.#clock.soon(() => feed.lost('the feed broke'));
    };
    const keys = new Set(this.#servers.log.map(({ key }) => key));
    const newest = [...keys].map((key) => this.#servers.newest(key) as StoredRecord);
    for (const record of newest.sort((a, b) => a.revision - b.revision)) inOrder(() => feed.changed(record));
    inOrder(() => feed.complete());
    this.#servers.feeds.add(deliver);
    return { stop };
  }

  write(record: Omit<StoredRecord, 'revision'>, expectedRevision: number): Promise<number | null> {
    return this.#change(() => this.#servers.write(record, expectedRevision));
  }

  writeLast(record: Omit<StoredRecord, 'revision'>, newest: number): Promise<number | null> {
    return this.#change(() => this.#servers.writeLast(record, newest));
  }

  async #change(make: () => number | null): Promise<number | null> {
    const { lostRequest, lostAnswer, doubled, refusedThenMade } = this.faults;
    await this.#transmit();
    if (this.#happens(lostRequest)) return this.#never();
    if (this.#happens(refusedThenMade)) {
      this.#clock.after(this.#random(lateMaxMs), make);
      return null;
    }
    const first = make();
    const answer = this.#happens(doubled) ? make() : first;
    if (this.#happens(lostAnswer)) return this.#never();
    await this.#transmit().catch(() => {
      throw new Error('the connection was lost before the answer');
    });
    return answer;
  }

  /** Each call is a message of its own. */
  disconnect(): void {}

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDown = true;
  }

  /** A promise that never resolves. */
  #never(): Promise<never> {
    return new Promise(() => {});
  }

  /** Waits for as long as a request or an answer takes between the node and the servers. */
  async #transmit(): Promise<void> {
    await this.#clock.sleep(this.#random(this.faults.delayMaxMs + 1));
    if (this.isDown) throw new NotSentError('there is no connection');
  }

  #stale(): boolean {
    return this.#happens(this.faults.stale);
  }

  #happens(percent: number): boolean {
    return this.#random(100) < percent;
  }
}
