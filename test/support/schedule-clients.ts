// Clients of a simulated cluster: they write, remove and read documents at whichever node serves them, and keep the history of every document
// that is written durably.
import assert from 'node:assert/strict';
import { type DocumentResult, DurabilityLevel, notResident } from '#kv/data/documents.ts';
import { Datatype, Status } from '#wire/status.ts';
import { withXattrs } from './a-bucket.ts';
import { isLinearizable, type Operation } from './linearizable.ts';
import { durableKeys, pick, plainKeys } from './schedule-keys.ts';
import type { ScheduledCluster } from './scheduled-cluster.ts';
import type { ScheduledNode } from './scheduled-node.ts';

/** Answers after which the document is as it was before. */
const refusals: readonly number[] = [
  Status.notMyVbucket,
  Status.temporaryFailure,
  Status.durabilityImpossible,
  Status.syncWriteInProgress,
  Status.outOfMemory,
];

type Histories = Map<string, Operation[]>;

interface DurableWrite {
  /** The histories of the bucket that exists at the call. */
  readonly histories: Histories;
  /** The name of the document, as `nameOf` makes it. */
  readonly name: string;
  /** Null: a removal. */
  readonly value: string | null;
  readonly calledAt: number;
}

interface Answerable {
  answeredAt: number;
}

export class ScheduleClients {
  readonly counts = {
    writes: 0,
    acknowledged: 0,
    unknown: 0,
    reads: 0,
    plainWrites: 0,
    copyReads: 0,
    fetched: 0,
  };
  /** The first contradiction. */
  problem: string | null = null;
  /** Depends on every answer: equal for equal schedules. */
  digest = 0;
  /** By document, in each incarnation of the bucket: a flush removes every document. */
  private histories: Histories = new Map();
  private readonly cluster: ScheduledCluster;
  /** Numbers calls and answers in their order: several may have the same time. */
  private step = 0;
  private lastValue = 0;
  private isStopped = false;

  constructor(cluster: ScheduledCluster) {
    this.cluster = cluster;
    cluster.bucketGone = () => this.endHistories();
  }

  begin(): void {
    const pauseMs = 10 + this.cluster.random(80);
    for (let i = 0; i < 2; i++) void this.run(pauseMs);
  }

  stop(): void {
    this.isStopped = true;
  }

  private async run(pauseMs: number): Promise<void> {
    const { clock, random } = this.cluster;
    while (!this.isStopped && this.problem === null) {
      await clock.sleep(random(pauseMs));
      this.act();
    }
  }

  private act(): void {
    const { random, vbucketCount } = this.cluster;
    const vb = random(vbucketCount);
    const node = this.serving(vb);
    this.cluster.bucket.act();
    const choice = random(20);
    if (choice < 2) this.readCopy(vb);
    else if (node === null) return;
    else if (choice < 8) this.read(node, vb, pick(random, Object.keys(durableKeys)));
    else if (choice < 17) this.writeDurably(node, vb, pick(random, Object.keys(durableKeys)));
    else
      this.writePlainly(
        node,
        vb,
        pick(
          random,
          this.cluster.bucket.keys.filter((key) => !(key in durableKeys)),
        ),
      );
  }

  /**
   * The node that serves the vbucket; null: none. Two are a contradiction, except where the only copy was failed over: a node that is cut off serves
   * it until it sees that, and another one may begin with nothing.
   */
  serving(vb: number): ScheduledNode | null {
    if (this.cluster.bucket.record === null) return null;
    const nodes = [...this.cluster.running.values()].map(({ node }) => node);
    for (const node of nodes) node.tick();
    const found = nodes.filter(({ open }) => open?.documents.isActive(vb));
    if (found.length > 1 && !this.cluster.givenUp.has(vb % this.cluster.shardCount))
      this.fail(`${found.map(({ name }) => name)} serve vbucket ${vb}`);
    return found[0] ?? null;
  }

  /** A copy may be read at any time; what it shows may be old. */
  private readCopy(vb: number): void {
    const { random, running } = this.cluster;
    const { node } = pick(random, [...running.values()]) ?? {};
    if (!node?.open || node.documents.isActive(vb)) return;
    this.counts.copyReads++;
    const key = pick(random, plainKeys);
    this.whenResident(
      node,
      () => node.read(key, vb),
      () => {},
    );
  }

  /** Reads a document after the last write, so that the check includes its final value. */
  readFinal(node: ScheduledNode, vb: number, key: string): void {
    if (key in durableKeys) this.read(node, vb, key);
    else
      this.whenResident(
        node,
        () => node.read(key, vb),
        () => {},
      );
  }

  private read(node: ScheduledNode, vb: number, key: string): void {
    const { histories } = this;
    const calledAt = ++this.step;
    this.whenResident(
      node,
      () => node.read(key, vb),
      (found) => {
        if (typeof found !== 'string' && found !== Status.keyNotFound) return;
        this.counts.reads++;
        this.note(found === Status.keyNotFound ? 0 : 1);
        const value = typeof found === 'string' ? documentValue(found) : null;
        const read: Operation = { kind: 'read', value, calledAt, answeredAt: ++this.step };
        addTo(histories, this.nameOf(node, vb, key), read);
      },
    );
  }

  private writeDurably(node: ScheduledNode, vb: number, key: string): void {
    const { random } = this.cluster;
    const isRemoval = random(5) === 0;
    const value = isRemoval ? null : `${++this.lastValue}`;
    const durability = durableKeys[key as keyof typeof durableKeys];
    const { histories } = this;
    const calledAt = ++this.step;
    const write = (): DocumentResult =>
      value === null ? node.remove(key, vb, { durability }) : node.store(key, vb, { value, durability });
    this.whenResident(node, write, (status) =>
      this.wrote(node, { histories, name: this.nameOf(node, vb, key), value, calledAt }, status),
    );
  }

  private wrote(
    node: ScheduledNode,
    { calledAt, histories, name, value }: DurableWrite,
    status: Status,
  ): void {
    this.note(status);
    const isRemoval = value === null;
    if (refusals.includes(status)) return;
    if (isRemoval && status === Status.keyNotFound) {
      addTo(histories, name, { kind: 'read', value: null, calledAt, answeredAt: ++this.step });
      return;
    }
    if (status !== Status.success) {
      this.fail(`a durable write answers ${status}`);
      return;
    }
    this.counts.writes++;
    const operation = { kind: 'write' as const, value, calledAt, answeredAt: Infinity };
    addTo(histories, name, operation);
    const token = node.result.pending;
    if (token === 0) this.acknowledge(operation);
    // Noted at once, so that the order of answers and later calls is exact.
    else node.hold(token, (outcome) => this.answered(node, operation, outcome));
  }

  private writePlainly(node: ScheduledNode, vb: number, key: string): void {
    const { clock, random } = this.cluster;
    const kind = random(4);
    const expiry = kind === 1 ? Math.floor(clock.wallMs() / 1000) + 1 + random(3) : 0;
    this.counts.plainWrites++;
    const shape = random(6);
    // Some bodies are worth compressing, and some documents have extended attributes.
    const body = `${++this.lastValue}`.padEnd(shape < 3 ? 400 : 4, 'a');
    const isPlain = shape % 2 === 0;
    const value = isPlain ? body : withXattrs({ _s: `"${body.slice(0, 4)}"`, u: '2' }, body);
    const datatype = isPlain ? Datatype.raw : Datatype.xattr;
    const write = (): DocumentResult =>
      kind === 0 ? node.remove(key, vb) : node.store(key, vb, { value, datatype, expiry });
    this.whenResident(node, write, (status) => this.note(status));
  }

  /**
   * Calls `done` with what `act` returns, once the node has read from its disk what that needs. A process that ends before does not answer, nor one
   * whose bucket was closed before.
   */
  whenResident<T>(
    node: ScheduledNode,
    act: () => T,
    done: (found: Exclude<T, typeof notResident>) => void,
  ): void {
    const found = act();
    if (found !== notResident) {
      done(found as Exclude<T, typeof notResident>);
      return;
    }
    const { bucket, documents, incarnation } = node;
    documents.awaitDisk((answer) => {
      if (typeof answer === 'number' || this.cluster.running.get(node.name)?.node !== node) return;
      if (node.open !== bucket || node.incarnation !== incarnation) return;
      this.counts.fetched++;
      documents.provideFetched(answer);
      this.whenResident(node, act, done);
      documents.provideFetched(null);
    });
  }

  private answered(node: ScheduledNode, operation: Answerable, status: Status): void {
    this.note(status);
    // A process that was killed answers nothing.
    const isRunning = this.cluster.running.get(node.name)?.node === node;
    if (isRunning && status === Status.success) this.acknowledge(operation);
    else this.counts.unknown++;
  }

  private acknowledge(operation: Answerable): void {
    operation.answeredAt = ++this.step;
    this.counts.acknowledged++;
  }

  private nameOf({ incarnation }: ScheduledNode, vb: number, key: string): string {
    return `${vb} ${key} ${incarnation}`;
  }

  private note(outcome: number): void {
    this.digest = Math.imul(this.digest ^ outcome, 0x01000193) ^ this.cluster.clock.monotonicMs();
  }

  fail(problem: string): void {
    this.problem ??= `${problem} at ${this.cluster.clock.monotonicMs()} ms`;
  }

  /** The bucket is deleted: what follows concerns another one, also answers about this one that come later. */
  private endHistories(): void {
    this.check();
    this.histories = new Map();
  }

  /** Fails unless one order of the operations explains the answers about each document. */
  check(): void {
    for (const [name, history] of this.histories) {
      const known = this.knownOf(name, history);
      if (!known.some(({ answeredAt }) => answeredAt !== Infinity)) continue;
      if (!isLinearizable(known)) this.fail(`no order explains the answers about document ${name}`);
    }
  }

  /** What must be explained: where every memory was lost, the writes that were acknowledged as persisted, and the last read. */
  private knownOf(name: string, history: readonly Operation[]): readonly Operation[] {
    const { givenUp, memoryLost, shardCount } = this.cluster;
    const [vb, key] = name.split(' ') as [string, keyof typeof durableKeys];
    const shard = Number(vb) % shardCount;
    if (givenUp.has(shard)) return [];
    if (!memoryLost.has(shard)) return history;
    if (durableKeys[key] === DurabilityLevel.majority) return [];
    return history.filter((operation, at) => operation.kind === 'write' || at === history.length - 1);
  }
}

function addTo(histories: Histories, name: string, operation: Operation): void {
  const history = histories.get(name) ?? [];
  history.push(operation);
  histories.set(name, history);
}

/** The value in what a node's `read` returns; null: a tombstone. */
function documentValue(text: string): string | null {
  const fields = JSON.parse(text) as unknown[];
  assert.equal(fields.length, 9);
  return fields[5] === true || fields[5] === 1 ? null : (fields[0] as string);
}
