// Clients that write and read a few documents with the official SDK at durability `majority`, and note what they called and what was
// answered, for the check of linearizability.
import assert from 'node:assert/strict';
import {
  CasMismatchError,
  type Collection,
  DocumentExistsError,
  DocumentNotFoundError,
  DurabilityImpossibleError,
  DurabilityLevel,
  DurableWriteInProgressError,
  UnambiguousTimeoutError,
} from 'couchbase';
import type { Operation } from './linearizable.ts';
import { eventuallyWithin } from './node-process.ts';
import type { Random } from './random.ts';

const timeoutMs = 3_000;
const durable = { durabilityLevel: DurabilityLevel.Majority, timeout: timeoutMs };

/** Errors after which the write has not happened and never will. */
const refusals = [
  CasMismatchError,
  DocumentExistsError,
  DocumentNotFoundError,
  DurabilityImpossibleError,
  DurableWriteInProgressError,
  UnambiguousTimeoutError,
];

export class RegisterClients {
  readonly histories = new Map<string, Operation[]>();
  readonly counts: Record<string, number> = {};
  private readonly collection: Collection;
  private readonly random: Random;
  private lastValue = 0;
  private isRunning = true;
  private readonly running: Promise<void>[];
  private readonly pauseMsMax: number;

  /** Two clients for each key, which pause between operations for up to `pauseMsMax`. */
  constructor(collection: Collection, keys: readonly string[], random: Random, pauseMsMax = 45) {
    this.collection = collection;
    this.random = random;
    this.pauseMsMax = pauseMsMax;
    for (const key of keys) this.histories.set(key, []);
    this.running = keys.flatMap((key) => [this.work(key), this.work(key)]);
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await Promise.all(this.running);
  }

  /** Reads each key once more: what was acknowledged must be there. */
  async readAll(): Promise<void> {
    for (const key of this.histories.keys()) await this.read(key);
  }

  /** Resolves once each document has been written by a call made after this one. */
  async writtenAnew(withinMs: number): Promise<void> {
    const sinceMs = performance.now();
    const isNewWrite = ({ answeredAt, calledAt, kind }: Operation): boolean =>
      kind !== 'read' && calledAt >= sinceMs && answeredAt !== Infinity;
    await eventuallyWithin(withinMs, () => {
      for (const [key, history] of this.histories)
        assert.ok(history.findLast(isNewWrite), `no write of ${key} was acknowledged`);
    });
  }

  private async work(key: string): Promise<void> {
    while (this.isRunning) {
      const kind = this.random(5);
      if (kind < 2) await this.write(key);
      else if (kind < 4) await this.read(key);
      else await this.replace(key);
      await new Promise((resolve) => setTimeout(resolve, 5 + this.random(this.pauseMsMax - 5)));
    }
  }

  private async write(key: string): Promise<void> {
    const value = `v${++this.lastValue}`;
    const calledAt = performance.now();
    await this.changed(key, { kind: 'write', value, calledAt }, () =>
      this.collection.upsert(key, value, durable),
    );
  }

  /** Replaces what it read, unless another client was faster. */
  private async replace(key: string): Promise<void> {
    const found = await this.read(key);
    if (found === null) return;
    const value = `v${++this.lastValue}`;
    const calledAt = performance.now();
    const { cas, content: expected } = found;
    await this.changed(key, { kind: 'replace', expected, value, calledAt }, () =>
      this.collection.replace(key, value, { ...durable, cas }),
    );
  }

  private async read(key: string) {
    const calledAt = performance.now();
    const note = (value: string | null): void =>
      this.note(key, { kind: 'read', value, calledAt, answeredAt: performance.now() });
    try {
      const { cas, content } = await this.collection.get(key, { timeout: timeoutMs });
      note(content as string);
      return { cas, content: content as string };
    } catch (error) {
      if (error instanceof DocumentNotFoundError) note(null);
      else this.count(`read: ${(error as Error).constructor.name}`);
      return null;
    }
  }

  private async changed(
    key: string,
    change: DistributiveOmit<Operation, 'answeredAt'>,
    act: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await act();
      this.note(key, { ...change, answeredAt: performance.now() } as Operation);
    } catch (error) {
      this.count(`write: ${(error as Error).constructor.name}`);
      if (refusals.some((refusal) => error instanceof refusal)) return;
      this.note(key, { ...change, answeredAt: Infinity } as Operation);
    }
  }

  note(key: string, operation: Operation): void {
    this.histories.get(key)?.push(operation);
    this.count(operation.answeredAt === Infinity ? `${operation.kind} unanswered` : operation.kind);
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
