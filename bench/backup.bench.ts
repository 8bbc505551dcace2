// Backup and restore of a real node by the commands: documents per second of processor time of all threads of node and command, sizes,
// memory, and the latency of reads during a backup. Documents are of about 1 kB of words.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import type { DataReader } from '#backup/archive/data-file.adapter.ts';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { BucketClient, type StoreRequest } from '#client/bucket-client.ts';
import { backupNode } from '../test/support/bucket-state.ts';
import { administrator, launcher, NodeProcess } from '../test/support/node-process.ts';
import { processMs } from './support/server-usage.ts';

const batch = 2_000;
const words =
  'north harbour yellow lantern river market winter signal copper garden window station thunder paper'.split(
    ' ',
  );

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 1_000 : 300_000;
  const scratch = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const node = await NodeProcess.start({ args: ['--memory-quota', '3000', '--bucket', 'b:couchbase:1500'] });
  const access = backupNode(node);
  const folder = join(scratch, 'repository');
  try {
    const [route] = await access.routes('b');
    if (route === undefined) throw new Error('the bucket has no node');
    const client = await BucketClient.open(route.options);
    // The time to make the texts, which is subtracted below.
    const beforeTexts = process.cpuUsage();
    for (let n = 0; n < count; n++) textOf(n);
    const { user, system } = process.cpuUsage(beforeTexts);
    const sets = await timed(node, () => store(client, count));
    const bytes =
      Array.from({ length: 1_000 }, (_, n) => textOf(n).length).reduce((a, b) => a + b) * (count / 1_000);
    report('plain SETs by one client', count, sets.nodeMs + sets.ownMs - (user + system) / 1_000);
    const alone = compressAlone(count);
    report('compressing the same bytes alone', count, alone);
    const idle = await latencies(client, smoke ? 200 : 2_000);

    const full = await command(node, ['backup', folder]);
    report('full backup', count, full.nodeMs + full.commandMs, full);
    const size = archiveBytes(folder) / bytes;
    console.log(`size: ${size.toFixed(2)} of the documents`);
    const [busy] = await Promise.all([
      latencies(client, smoke ? 200 : 20_000),
      command(node, ['backup', folder, '--full']),
    ]);
    console.log(`99th percentile of single reads: ${p99(idle)} ms idle, ${p99(busy)} ms with a backup`);

    await store(client, Math.ceil(count / 100));
    const more = await command(node, ['backup', folder]);
    const share = (more.nodeMs + more.commandMs) / (full.nodeMs + full.commandMs);
    console.log(
      `incremental after 1 %: ${(share * 100).toFixed(1)} % of the processor time, ${more.wallMs} ms (full: ${full.wallMs} ms)`,
    );

    const verified = await command(node, ['backup', 'verify', folder]);
    console.log(
      `verify of full and incremental: ${(bytes / 1_000 / verified.commandMs).toFixed(0)} MB of documents per second of processor time`,
    );
    const examined = await command(node, ['backup', 'examine', folder, '--bucket', 'b', '--key', 'key-77']);
    console.log(`examine of a key in 3 backups: ${examined.wallMs} ms`);

    const sealed = await command(node, ['backup', join(scratch, 'sealed')], 'a passphrase');
    report('full backup, encrypted', count, sealed.nodeMs + sealed.commandMs, sealed);
    const merged = await command(node, ['backup', 'merge', folder]);
    report('merge of 3 backups', count, merged.commandMs, merged);

    await node.request('/pools/default/buckets/b', 'DELETE');
    const restored = await command(node, ['restore', folder]);
    report('restore into a new bucket', count, restored.nodeMs + restored.commandMs, restored);
    client.close();
    await measureSmallBackups(
      node,
      scratch,
      smoke ? { count: 1_000, rounds: 1 } : { count: 10_000, rounds: 5 },
    );
  } finally {
    await node[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A backup and restores of a small bucket, as tests do them between two cases. */
async function measureSmallBackups(
  node: NodeProcess,
  scratch: string,
  { count, rounds }: { count: number; rounds: number },
): Promise<void> {
  const access = backupNode(node);
  await access.createBucket('small', { ramQuotaMB: 100, replicaNumber: 0, flushEnabled: 1 });
  const [route] = await access.routes('small');
  const client = await BucketClient.open((route as NonNullable<typeof route>).options);
  await store(client, count);
  client.close();
  const folder = join(scratch, 'small');
  const saved = await command(node, ['backup', folder, '--bucket', 'small']);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++)
    times.push((await command(node, ['restore', folder, '--replace'])).wallMs);
  times.sort((a, b) => a - b);
  console.log(
    `${count.toLocaleString('en')} documents: saved in ${saved.wallMs} ms, restore --replace in ${times[rounds >> 1]} ms (median of ${rounds})`,
  );
}

interface Cost {
  wallMs: number;
  nodeMs: number;
}

interface CommandCost extends Cost {
  commandMs: number;
  peakMb: number;
}

async function timed(node: NodeProcess, work: () => Promise<unknown>): Promise<Cost & { ownMs: number }> {
  const [startedMs, nodeMs, own] = [performance.now(), processMs(node.pid), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(own);
  return {
    wallMs: Math.round(performance.now() - startedMs),
    nodeMs: processMs(node.pid) - nodeMs,
    ownMs: (user + system) / 1_000,
  };
}

/** Runs a command of the launcher. The shell's `times` prints the processor time of its children; GNU time would be another dependency. */
async function command(node: NodeProcess, args: string[], passphrase?: string): Promise<CommandCost> {
  const script = '"$0" "$@" > /dev/null; status=$?; times; exit $status';
  let printed = '';
  const environment = {
    DIVAN_URL: node.ready.node.rest,
    DIVAN_PASSWORD: administrator.password,
    ...(passphrase !== undefined && { DIVAN_BACKUP_PASSPHRASE: passphrase }),
  };
  const cost = await timed(node, async () => {
    const child = spawn('/bin/bash', ['-c', script, process.execPath, launcher, ...args], {
      env: { ...process.env, ...environment, NODE_OPTIONS: `--import ${peakPrinter}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk));
    child.stderr.on('data', (chunk: Buffer) => (printed += chunk));
    const [status] = (await once(child, 'close')) as [number];
    if (status !== 0) throw new Error(`${args.join(' ')}: ${printed}`);
  });
  const [, children = ''] = printed.match(/^\d+m[\d.]+s \d+m[\d.]+s$/gm) ?? [];
  const commandMs = [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (all, [, minutes, seconds]) => all + Number(minutes) * 60_000 + Number(seconds) * 1_000,
    0,
  );
  return { ...cost, commandMs, peakMb: Number(/peak (\d+)/.exec(printed)?.[1] ?? 0) };
}

const peakPrinter = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>process.stderr.write('peak '+Math.round(process.resourceUsage().maxRSS/1024)+'\\n'))",
)}`;

function report(what: string, count: number, cpuMs: number, cost?: CommandCost): void {
  const rate = Math.round((count / cpuMs) * 1_000);
  const rest =
    cost === undefined ? '' : `; ${cost.wallMs} ms, command ${cost.commandMs} ms, peak ${cost.peakMb} MB`;
  console.log(`${what}: ${rate} documents per second of processor time${rest}`);
}

async function store(client: BucketClient, count: number): Promise<void> {
  for (let from = 0; from < count; from += batch)
    await client.storeMany(
      0,
      Array.from({ length: Math.min(batch, count - from) }, (_, n) => setOf(from + n)),
    );
}

const setOf = (n: number): StoreRequest => ({
  kind: 'set',
  key: `key-${n}`,
  value: Buffer.from(textOf(n)),
  cas: 0n,
  expiry: 0,
});

function textOf(n: number): string {
  let state = n + 1;
  const text = Array.from({ length: 140 }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return words[(state >>> 8) % words.length];
  });
  return JSON.stringify({ n, text: text.join(' ') });
}

/** Milliseconds of processor time to compress the documents, with the level that backups use. */
function compressAlone(count: number): number {
  const blocks = Array.from({ length: Math.ceil(count / 1_000) }, (_, block) =>
    Buffer.from(Array.from({ length: 1_000 }, (_, n) => textOf(block * 1_000 + n)).join('')),
  );
  const cpuBefore = process.cpuUsage();
  for (const block of blocks) zstdCompressSync(block, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1_000;
}

function archiveBytes(folder: string): number {
  const { repository } = findBackup(folder);
  const manifest = repository.manifest(repository.complete()[0] as string);
  using data: DataReader = repository.data(manifest, 0);
  return data.bytes;
}

/** Milliseconds of single reads, one after the other; sorted. */
async function latencies(client: BucketClient, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const startedMs = performance.now();
    await client.getMany(0, [`key-${n}`]);
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b);
}

const p99 = (times: readonly number[]): string => (times[Math.floor(times.length * 0.99)] ?? 0).toFixed(2);
