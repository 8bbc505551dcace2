// Kills a node with SIGKILL in the middle of a write load, again and again on one data folder, and checks after each restart
// that every write acknowledged with `persistToMajority` is there. `node test/stress/kill.ts [rounds]`, default 50.
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, type Collection, connect, DurabilityLevel } from 'couchbase';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const writers = 16;
const documents = 400;

/** What clients were told: the newest acknowledged version of each document, and the newest that was sent. */
class Ledger {
  readonly acknowledged = new Map<string, number>();
  readonly sent = new Map<string, number>();
  /** Kills that left a data file which was to take another one's place. */
  killedInCompaction = 0;
}

/** `compacting`: the bucket is compacted all the time, so that most kills fall into a compaction. */
export async function killRounds(
  rounds: number,
  report: (line: string) => void = () => {},
  compacting = false,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-kill-'));
  const ledger = new Ledger();
  try {
    for (let round = 1; round <= rounds; round++) {
      const before = ledger.acknowledged.size;
      await oneRound(dataDir, ledger, round, compacting);
      report(
        `round ${round}: ${ledger.acknowledged.size} documents acknowledged (${before} before), all there; ` +
          `${ledger.killedInCompaction} kills with a file half compacted`,
      );
    }
    await check(dataDir, ledger);
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

async function compactForever(node: NodeProcess, stopped: { now: boolean }): Promise<void> {
  while (!stopped.now) {
    await node.request('/pools/default/buckets/b/controller/compactBucket', 'POST').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function oneRound(dataDir: string, ledger: Ledger, round: number, compacting: boolean): Promise<void> {
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
  try {
    const collection = cluster.bucket('b').defaultCollection();
    await verify(collection, ledger);
    const stopped = { now: false };
    const load = Array.from({ length: writers }, (_, i) => write(collection, ledger, round, i, stopped));
    if (compacting) load.push(compactForever(node, stopped));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 400));
    await node.stop('SIGKILL');
    stopped.now = true;
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
  stopped: { now: boolean },
): Promise<void> {
  for (let i = 0; !stopped.now; i++) {
    const key = `doc-${(writer + i * writers) % documents}`;
    const version = round * 1_000_000 + i;
    ledger.sent.set(key, version);
    try {
      const options = { durabilityLevel: DurabilityLevel.PersistToMajority, timeout: 1500 };
      await collection.upsert(key, { version, filler: 'x'.repeat(200 + (i % 5) * 700) }, options);
      ledger.acknowledged.set(key, version);
    } catch {
      // The node is gone: what this write became is only bounded by `sent`.
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

/** The SDK waits long for sessions whose node is gone. */
const closeSoon = (cluster: Cluster): Promise<unknown> =>
  Promise.race([cluster.close(), new Promise((resolve) => setTimeout(resolve, 2000))]);

if (import.meta.main) {
  await killRounds(Number(process.argv[2] ?? 50), console.log);
  process.exit(0);
}
