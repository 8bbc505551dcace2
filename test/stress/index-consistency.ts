// Clients write, and read with request_plus and at_plus over an index, while the bucket is flushed, the collection and the index are
// dropped and created again, and the node is restarted and killed. test/support/index-history.ts checks what the readers saw.
// `node test/stress/index-consistency.ts [rounds]`, default 50; DIVAN_SEED repeats the order of the disturbances.

import assert from 'node:assert/strict';
import { BucketClient, type ChangeToken } from '#client/bucket-client.ts';
import { dataAddress } from '../support/addresses.ts';
import {
  type FailedRead,
  type History,
  hangMs,
  type Interval,
  type Read,
  violations,
  type Write,
} from '../support/index-history.ts';
import { administrator } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { RestartedNode } from '../support/restarted-node.ts';
import { printedSeed } from '../support/seed.ts';

const writers = 3;
const keysOfWriter = 4;
const writesOfRound = 25;
const readers = 2;
const rowsText = 'SELECT META(d).id AS k, d.n FROM travel.s.c AS d USE INDEX (by_n) WHERE d.n >= 0';

/** Two kills, because they lose more than a restart. */
const disturbances = [
  'nothing',
  'flush',
  'drop collection',
  'drop index',
  'restart',
  'kill',
  'kill',
] as const;
type Disturbance = (typeof disturbances)[number];

interface TokenWrite extends Write {
  readonly token: ChangeToken | null;
}

type Tables = { [K in Exclude<keyof History, 'writes'>]: History[K][number][] };

class ConsistencyRun {
  readonly history: Tables & { readonly writes: TokenWrite[] } = {
    writes: [],
    reads: [],
    failedReads: [],
    resets: [],
    crashes: [],
    disturbances: [],
  };
  private readonly node = new RestartedNode('travel');
  private readonly random: Random;
  private lastValue = 0;
  private isWriting = false;

  constructor(random: Random) {
    this.random = random;
  }

  async start(): Promise<void> {
    await this.node.start();
    await this.node.process.request('/pools/default/buckets/travel', 'POST', { flushEnabled: '1' });
    await this.statement('CREATE SCOPE travel.s IF NOT EXISTS');
    await this.makeCollection();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }

  /** @throws AssertionError when an answer is not allowed */
  async round(disturbance: Disturbance): Promise<void> {
    this.isWriting = true;
    const reading = Array.from({ length: readers }, (_, reader) => this.read(reader % 2 === 1));
    const writing = Array.from({ length: writers }, (_, writer) => this.write(writer));
    await this.disturb(disturbance);
    await Promise.all(writing);
    this.isWriting = false;
    await Promise.all(reading);
    await this.readOnce(false);
    assert.deepEqual(violations(this.history), [], `after: ${disturbance}`);
  }

  private async disturb(disturbance: Disturbance): Promise<void> {
    const { history, node } = this;
    // Waits until some of the writes are done.
    const until = history.writes.length + this.random(writers * writesOfRound);
    while (history.writes.length < until) await new Promise((resolve) => setTimeout(resolve, 1));
    if (disturbance === 'flush')
      await this.recorded(history.resets, async () => {
        const { status } = await node.process.request(
          '/pools/default/buckets/travel/controller/doFlush',
          'POST',
          {},
        );
        assert.equal(status, 200);
      });
    else if (disturbance === 'drop collection')
      await this.recorded(history.resets, async () => {
        await this.statement('DROP COLLECTION travel.s.c');
        await this.makeCollection();
      });
    else if (disturbance === 'drop index')
      await this.recorded(history.disturbances, async () => {
        await this.statement('DROP INDEX by_n ON travel.s.c');
        await this.statement('CREATE INDEX by_n ON travel.s.c(n)');
      });
    else if (disturbance === 'restart')
      await this.recorded(history.disturbances, () => this.restart('SIGTERM'));
    else if (disturbance === 'kill') await this.recorded(history.crashes, () => this.restart('SIGKILL'));
  }

  /** The interval has no end until `act` has ended. */
  private async recorded(intervals: Interval[], act: () => Promise<void>): Promise<void> {
    const interval = { startMs: performance.now(), endMs: Infinity };
    intervals.push(interval);
    await act();
    interval.endMs = performance.now();
  }

  private async restart(signal: NodeJS.Signals): Promise<void> {
    await this.node.process.stop(signal);
    await this.node.start();
  }

  private async makeCollection(): Promise<void> {
    await this.statement('CREATE COLLECTION travel.s.c');
    await this.statement('CREATE INDEX by_n ON travel.s.c(n)');
  }

  private async write(writer: number): Promise<void> {
    let client: BucketClient | null = null;
    let collection: number | undefined;
    for (let left = writesOfRound; left > 0; left--) {
      const key = `w${writer}-${this.random(keysOfWriter)}`;
      const isDurable = this.random(3) === 0;
      const [value, startMs] = [++this.lastValue, performance.now()];
      let token: ChangeToken | null = null;
      let status: number | null = null;
      try {
        client = client === null || client.isClosed ? await this.client() : client;
        collection ??= await client.collectionId('s', 'c');
        const [reply] = await client.storeMany(collection ?? 0xffff, [
          {
            kind: 'set',
            key,
            value: Buffer.from(JSON.stringify({ n: value })),
            cas: 0n,
            expiry: 0,
            ...(isDurable && { durability: 'persistToMajority' }),
          },
        ]);
        status = reply?.status ?? null;
        token = reply?.token ?? null;
      } catch {
        client?.close(); // The node is stopped.
      }
      if (status !== 0) collection = undefined;
      const endMs = status === null ? Infinity : performance.now();
      const isAcknowledged = status === 0;
      this.history.writes.push({ key, value, startMs, endMs, isAcknowledged, isDurable, token });
      if (!isAcknowledged) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    client?.close();
  }

  private client(): Promise<BucketClient> {
    const address = dataAddress(this.node.process);
    return BucketClient.open({ address, account: administrator, bucket: 'travel' });
  }

  private async read(isAtPlus: boolean): Promise<void> {
    while (this.isWriting) await this.readOnce(isAtPlus);
  }

  private async readOnce(isAtPlus: boolean): Promise<void> {
    const { history } = this;
    const after = isAtPlus ? this.recentWrites() : undefined;
    const startMs = performance.now();
    try {
      const consistency = after ? atPlus(after) : { scan_consistency: 'request_plus' };
      const results = await this.statement(rowsText, { timeout: `${hangMs + 5_000}ms`, ...consistency });
      const rows = (results as { k: string; n: number }[]).map(({ k, n }) => [k, n] as const);
      const read: Read = { startMs, endMs: performance.now(), rows, ...(after && { after }) };
      history.reads.push(read);
    } catch (error) {
      const endMs = performance.now();
      const failed: FailedRead = { startMs, endMs, reason: (error as Error).message };
      if (!(after && isOfEndedHistory(failed, after, history))) history.failedReads.push(failed);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** The newest acknowledged write of each vbucket, among the last twenty. */
  private recentWrites(): TokenWrite[] {
    const byVb = new Map<number, TokenWrite>();
    for (const write of this.history.writes.slice(-20)) if (write.token) byVb.set(write.token.vb, write);
    return [...byVb.values()];
  }

  private statement(statement: string, parameters: Record<string, unknown> = {}): Promise<unknown[]> {
    return this.node.queries.rows(statement, parameters);
  }
}

function atPlus(writes: readonly TokenWrite[]): Record<string, unknown> {
  const vectors = writes.map(({ token }) => [token?.vb, [token?.seqno, String(token?.uuid)]] as const);
  const vector = Object.fromEntries(vectors) as object;
  return { scan_consistency: 'at_plus', scan_vectors: { 'default:travel.s.c': vector } };
}

/** Whether the read failed because a flush or a crash after a write has ended the history of its token: such a token is refused. */
function isOfEndedHistory({ reason, endMs }: FailedRead, after: readonly Write[], history: History): boolean {
  const sinceMs = Math.min(...after.map(({ startMs }) => startMs));
  const ends = [...history.resets, ...history.crashes];
  return reason.includes('rollback') && ends.some((end) => end.endMs >= sinceMs && end.startMs <= endMs);
}

/** The first rounds contain each disturbance, in an order that depends on the seed. */
export async function consistencyRounds(
  rounds: number,
  random: Random,
  report: (line: string) => void = () => {},
): Promise<void> {
  await using run = new ConsistencyRun(random);
  await run.start();
  let left: Disturbance[] = [];
  for (let round = 1; round <= rounds; round++) {
    if (left.length === 0) left = [...disturbances];
    const [disturbance = 'nothing'] = left.splice(random(left.length), 1);
    await run.round(disturbance);
    const { reads, failedReads } = run.history;
    report(`${round}: ${disturbance}, ${reads.length} reads, ${failedReads.length} failed`);
  }
  assert.ok(run.history.reads.length >= rounds);
}

if (import.meta.main) {
  const random = randomFrom(printedSeed(console.log));
  await consistencyRounds(Number(process.argv[2] ?? 50), random, console.log);
}
