// Writes, backups, merges, removals and restores under `kill -9` of the command or of the node: whatever backup is complete afterwards restores
// the state that its bucket had. `node test/stress/backup-kill.ts [minutes]`, default 30; DIVAN_SEED repeats the order of the tasks.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { runBackup } from '#backup/capture/run-backup.adapter.ts';
import { verifyBackup } from '#backup/inspect/verify.ts';
import type { BackupNode } from '#backup/node/backup-node.ts';
import { runRestore } from '#backup/restore/run-restore.adapter.ts';
import { DataPortError } from '#client/data-port-error.ts';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { BackupHistory } from '../support/backup-history.ts';
import { type BucketState, backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { type CommandEnd, startCommand } from '../support/command.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

const bucket = 'b';
const copy = 'copy';
const writesOfRound = 100;
/** Above this number of backups the next task merges or removes some. */
const backupsMax = 8;
const { signal } = new AbortController();

type Task = 'backup' | 'full backup' | 'merge' | 'remove' | 'restore';

/** The other tasks work on the archive alone. */
const needsNode = (task: Task): boolean => task !== 'merge' && task !== 'remove';

class KillRun implements AsyncDisposable {
  readonly counts: Record<string, number> = {};
  private readonly random: Random;
  private readonly scratch = mkdtempSync(join(tmpdir(), 'divan-backup-stress-'));
  private readonly folder = join(this.scratch, 'repository');
  private readonly states = new Map<string, BucketState>();
  /** How long each task took, so that kills happen while it runs. */
  private readonly durationsMs = new Map<Task, number>();
  private readonly nodes = new Map<'source' | 'target', NodeProcess>();

  constructor(random: Random) {
    this.random = random;
  }

  async start(): Promise<void> {
    await this.startNode('source');
    await this.startNode('target');
    const source = this.access('source');
    await source.createBucket(bucket, { ramQuotaMB: 100, replicaNumber: 0 });
    await source.addCollections(bucket, { scopes: ['shop'], collections: [] });
    await this.write();
    await this.record();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes.values()) await node[Symbol.asyncDispose]();
    rmSync(this.scratch, { recursive: true, force: true });
  }

  /** Runs one task beside writes, kills the command, the node or nothing, and then checks the state. */
  async round(): Promise<void> {
    const task = this.nextTask();
    const choices = ['command', 'command', 'none', needsNode(task) ? 'node' : 'command'] as const;
    const killed = choices[this.random(4)] as string;
    const writing = this.write();
    const { child, ended } = startCommand(this.argsOf(task), this.environment(task));
    const startedMs = performance.now();
    const limitMs = this.durationsMs.get(task) ?? 1_000;
    if (killed !== 'none') await realClock.sleep(this.random(Math.ceil(limitMs)));
    if (killed === 'command') child.kill('SIGKILL');
    // A restore writes to the other node.
    const name = task === 'restore' ? 'target' : 'source';
    if (killed === 'node') await this.nodes.get(name)?.stop('SIGKILL');
    const end = await ended;
    if (end.status === 0) this.durationsMs.set(task, performance.now() - startedMs);
    this.judge(task, killed, end);
    if (killed === 'node') await this.startNode(name);
    await writing;
    await this.check(task, end.status === 0);
  }

  private nextTask(): Task {
    const names = findBackup(this.folder).repository.complete();
    if (names.length > backupsMax) return this.random(4) === 0 ? 'remove' : 'merge';
    const tasks: Task[] = ['backup', 'backup', 'restore', 'full backup'];
    if (names.length > 1) tasks.push('merge', 'merge');
    return tasks[this.random(tasks.length)] as Task;
  }

  private argsOf(task: Task): string[] {
    const { folder } = this;
    const names = findBackup(folder).repository.complete();
    if (task === 'merge') {
      const first = this.random(names.length - 1);
      const last = first + 1 + this.random(names.length - 1 - first);
      return ['backup', 'merge', folder, '--start', names[first] as string, '--end', names[last] as string];
    }
    if (task === 'remove') return ['backup', 'remove', folder, '--backup', names.at(-1) as string];
    if (task === 'restore') return ['restore', folder, '--map', `${bucket}=${copy}`];
    return ['backup', folder, '--bucket', bucket, ...(task === 'full backup' ? ['--full'] : [])];
  }

  private environment(task: Task): Record<string, string> {
    const node = this.nodes.get(task === 'restore' ? 'target' : 'source') as NodeProcess;
    return { DIVAN_URL: node.ready.node.rest, DIVAN_PASSWORD: administrator.password };
  }

  /** A command that nothing killed succeeds, or names a reason that a kill explains. */
  private judge(task: Task, killed: string, { status, error }: CommandEnd): void {
    const outcome = status === 0 ? 'complete' : status === null ? 'killed' : 'failed';
    this.count(`${task} ${outcome}`);
    this.count(`kills of ${killed}`);
    if (status === 0 || status === null) return;
    const isExplained = /continues .*: merge that one too|repeat the command that began it/.test(error);
    assert.ok(killed === 'node' || isExplained, `${task}: ${error}`);
    assert.doesNotMatch(error, /\n +at /, 'no stack');
  }

  /** Writes until all are acknowledged, or the node is killed. */
  private async write(): Promise<void> {
    try {
      const history = await BackupHistory.start(this.random, this.access('source'), bucket);
      await history.step(writesOfRound).finally(() => history.close());
    } catch (error) {
      const isExpected = error instanceof DataPortError || /cannot reach|fetch failed/.test(String(error));
      if (!isExpected) throw error;
    }
  }

  /** Completes what was interrupted, and restores a backup whose state is known. */
  private async check(task: Task, isComplete: boolean): Promise<void> {
    const { folder } = this;
    if (task === 'restore' && !isComplete) await this.completeRestore();
    await this.record();
    const { repository } = findBackup(folder);
    assert.deepEqual(repository.partial(), []);
    const names = repository.complete();
    for (const name of this.states.keys()) if (!names.includes(name)) this.states.delete(name);
    const known = names.filter((name) => this.states.has(name));
    const name = known[this.random(known.length)] as string;
    for (const manifest of repository.chain(name))
      await verifyBackup(repository, manifest, { isWanted: () => true, clock: realClock, signal });
    const expected = this.states.get(name) as BucketState;
    await this.nodes.get('target')?.request(`/pools/default/buckets/${copy}`, 'DELETE');
    const found = await this.restore(name, false);
    assert.deepEqual(differences(expected, found).slice(0, 5), [], `backup ${name} after ${task}`);
    this.count('states compared');
    this.count('documents compared', expected.size);
  }

  /** A backup while nobody writes, so that its state is known. An interrupted backup is removed if it is full or has other buckets. */
  private async record(): Promise<void> {
    const node = this.access('source');
    const request = { folder: this.folder, buckets: [bucket], isFull: false, purges: false };
    const context = { node, clock: realClock, random: realRandom, signal, progress: () => {} };
    // This run may complete an interrupted backup, which has the present seqnos as well.
    const { manifest, isResumed } = await runBackup(request, context);
    if (isResumed) this.count('backups resumed');
    this.states.set(manifest.name, await stateOf(node, bucket));
  }

  /** Completes the interrupted restore; repeats it if it was killed before it recorded that it began. */
  private async completeRestore(): Promise<void> {
    try {
      await this.restore(undefined, true);
    } catch (error) {
      if (!/^nothing to resume/.test((error as Error).message)) throw error;
      await this.restore(undefined, false);
    }
  }

  private async restore(backup: string | undefined, resumes: boolean): Promise<BucketState> {
    const node = this.access('target');
    const request = {
      folder: this.folder,
      backup,
      buckets: [],
      map: [`${bucket}=${copy}`],
      replaces: false,
      isForced: false,
      createsBuckets: true,
      withIndexes: true,
      resumes,
      awaitsDisk: false,
    };
    await runRestore(request, { node, clock: realClock, signal, progress: () => {} });
    return stateOf(node, copy);
  }

  private access(name: 'source' | 'target'): BackupNode {
    return backupNode(this.nodes.get(name) as NodeProcess);
  }

  private async startNode(name: 'source' | 'target'): Promise<void> {
    const dataDir = join(this.scratch, name);
    this.nodes.set(name, await NodeProcess.start({ dataDir, args: ['--memory-quota', '600'] }));
  }

  private count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }
}

/** Ends when `isEnough` returns true, at the earliest after one round. */
export async function backupKillRounds(
  isEnough: (rounds: number) => boolean,
  random: Random,
  report: (line: string) => void = () => {},
): Promise<void> {
  await using run = new KillRun(random);
  await run.start();
  let rounds = 0;
  do {
    await run.round();
    report(`${++rounds}: ${JSON.stringify(run.counts)}`);
  } while (!isEnough(rounds));
}

if (import.meta.main) {
  const endMs = performance.now() + Number(process.argv[2] ?? 30) * 60_000;
  await backupKillRounds(() => performance.now() >= endMs, randomFrom(printedSeed(console.log)), console.log);
}
