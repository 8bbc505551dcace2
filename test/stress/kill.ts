// Kills a node with SIGKILL under a write load, repeatedly on one data folder, and checks after each restart that every write
// acknowledged with `persistToMajority` exists. `node test/stress/kill.ts [rounds]`, default 50;
// DIVAN_SEED repeats the times of the kills.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, type Collection, DurabilityLevel } from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { connect } from '../support/sdk.ts';
import { printedSeed } from '../support/seed.ts';

const writers = 16;
const documents = 400;

/** The newest acknowledged version of each document, and the newest that was sent. */
class Ledger {
  readonly acknowledged = new Map<string, number>();
  /** The number of acknowledged writes. */
  acknowledgements = 0;
  /** Errors of writes before the kill. */
  readonly unexpected: unknown[] = [];
  readonly sent = new Map<string, number>();
  /** Kills that left an incomplete copy of a data file. */
  killedInCompaction = 0;
}

/** `compacting`: the bucket is compacted all the time, so that most kills fall into a compaction. */
export async function killRounds(
  rounds: number,
  random: Random,
  report: (line: string) => void = () => {},
  compacting = false,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-kill-'));
  const ledger = new Ledger();
  try {
    for (let round = 1; round <= rounds; round++) {
      const before = ledger.acknowledged.size;
      const acknowledgements = ledger.acknowledgements;
      await runRound(dataDir, ledger, { round, compacting, killAfterMs: 100 + random(400) });
      // A round without acknowledged writes proves nothing.
      assert.deepEqual(ledger.unexpected, [], `round ${round}: writes failed before the kill`);
      assert.ok(ledger.acknowledgements > acknowledgements, `round ${round}: no write was acknowledged`);
      report(
        `round ${round}: ${ledger.acknowledged.size} documents acknowledged (${before} before), all present; ` +
          `${ledger.killedInCompaction} kills during a compaction`,
      );
    }
    await check(dataDir, ledger);
    assert.ok(
      ledger.acknowledged.size >= writers,
      `only ${ledger.acknowledged.size} documents were acknowledged`,
    );
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Whether there are data files that no `files.json` names. */
function isHalfCompacted(dataDir: string): boolean {
  const layouts = globSync(`${dataDir}/**/files.json`).map((path) => JSON.parse(readFileSync(path, 'utf8')));
  const named = layouts.reduce((sum, { generations }) => sum + generations.length, 0);
  return globSync(`${dataDir}/**/data-*.db`).length > named;
}

async function compactUntilStopped(node: NodeProcess, state: { isStopped: boolean }): Promise<void> {
  while (!state.isStopped) {
    await node.request('/pools/default/buckets/b/controller/compactBucket', 'POST').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The timeout ends only writes that hang in a running node: once the node has ended, the writers no longer wait for their writes. */
const durable = { durabilityLevel: DurabilityLevel.PersistToMajority, timeout: 60_000 };

interface LoadState {
  isStopped: boolean;
  isKilled: boolean;
  /** Resolves when the node has ended. */
  ended: Promise<false>;
}

interface Round {
  round: number;
  compacting: boolean;
  killAfterMs: number;
}

async function runRound(
  dataDir: string,
  ledger: Ledger,
  { round, compacting, killAfterMs }: Round,
): Promise<void> {
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
  try {
    const collection = cluster.bucket('b').defaultCollection();
    await verify(collection, ledger);
    const ended = Promise.withResolvers<false>();
    const state: LoadState = { isStopped: false, isKilled: false, ended: ended.promise };
    const load = Array.from({ length: writers }, (_, i) => write(collection, ledger, round, i, state));
    const before = ledger.acknowledgements;
    if (compacting) load.push(compactUntilStopped(node, state));
    // The time of the kill counts from the first acknowledgement: otherwise a slow node would be killed before it acknowledges anything.
    await eventually(() => assert.ok(ledger.acknowledgements > before || ledger.unexpected.length > 0));
    await new Promise((resolve) => setTimeout(resolve, killAfterMs));
    state.isKilled = true;
    await node.stop('SIGKILL');
    state.isStopped = true;
    ended.resolve(false);
    if (isHalfCompacted(dataDir)) ledger.killedInCompaction++;
    await Promise.all(load);
  } finally {
    await closeSoon(cluster);
  }
}

async function write(
  collection: Collection,
  ledger: Ledger,
  round: number,
  writer: number,
  state: LoadState,
): Promise<void> {
  for (let i = 0; !state.isStopped; i++) {
    const key = `doc-${(writer + i * writers) % documents}`;
    const version = round * 1_000_000 + i;
    ledger.sent.set(key, version);
    try {
      const document = { version, filler: 'x'.repeat(200 + (i % 5) * 700) };
      const isWritten = collection.upsert(key, document, durable).then(() => true);
      isWritten.catch(() => {}); // for a write that the node will not answer
      if (!(await Promise.race([isWritten, state.ended]))) return;
      ledger.acknowledged.set(key, version);
      ledger.acknowledgements++;
    } catch (error) {
      // After the kill the write may or may not have been applied: only `sent` limits its version.
      if (!state.isKilled) ledger.unexpected.push(error);
      if (ledger.unexpected.length > 0) return;
    }
  }
}

async function verify(collection: Collection, ledger: Ledger): Promise<void> {
  for (const [key, version] of ledger.acknowledged) {
    const { content } = await eventually(() => collection.get(key));
    const newest = ledger.sent.get(key) as number;
    assert.ok(content.version >= version, `${key}: ${content.version} is older than acknowledged ${version}`);
    assert.ok(content.version <= newest, `${key}: ${content.version} was never sent`);
  }
}

async function check(dataDir: string, ledger: Ledger): Promise<void> {
  await using node = await NodeProcess.start({ dataDir });
  const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
  try {
    await verify(cluster.bucket('b').defaultCollection(), ledger);
    const buckets = (await (await node.request('/pools/default/buckets')).json()) as { name: string }[];
    assert.deepEqual(
      buckets.map(({ name }) => name),
      ['b'],
    );
  } finally {
    await closeSoon(cluster);
  }
}

/** Waits at most two seconds: the SDK waits longer for sessions whose node has ended. */
const closeSoon = (cluster: Cluster): Promise<unknown> =>
  Promise.race([cluster.close(), new Promise((resolve) => setTimeout(resolve, 2000))]);

if (import.meta.main) {
  const random = randomFrom(printedSeed(console.log));
  await killRounds(Number(process.argv[2] ?? 50), random, console.log);
  process.exit(0);
}
