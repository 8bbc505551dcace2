// Kills a cloud with SIGKILL at random times while clusters are created and deleted, repeatedly on one data folder, and checks that the
// cloud reaches the desired state: every acknowledged cluster exists once, with one process that survives the kills, and nothing
// of deleted ones is left. `node test/stress/cloud-kill.ts [kills]`, default 30; DIVAN_SEED repeats the order of the changes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CloudProcess, endNodes } from '../support/cloud-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

const clustersMax = 3;
const killWithinMs = 2_500;
const idleWaitMs = 180_000;
const killsPerCheck = 5;

interface Known {
  /** What was acknowledged: `maybe` when the answer was lost. */
  created: 'maybe' | 'yes';
  deleted: 'no' | 'maybe' | 'yes';
  /** Process of the cluster's node, once it was ready: the same until the end of the run. */
  pid?: number;
}

interface Shown {
  id: string;
  name: string;
  status: string;
}

class Rounds {
  private readonly dataDir = mkdtempSync(join(tmpdir(), 'divan-cloud-kill-'));
  private readonly known = new Map<string, Known>();
  private readonly random: Random;
  private projectId = '';
  private count = 0;

  constructor(random: Random) {
    this.random = random;
  }

  async run(kills: number, report: (line: string) => void): Promise<void> {
    try {
      for (let kill = 1; kill <= kills; kill++) {
        const afterMs = await this.oneKill();
        if (kill % killsPerCheck !== 0 && kill !== kills) continue;
        report(`kill ${kill} (after ${afterMs} ms): ${await this.checkWhenIdle(kill === kills)}`);
      }
    } finally {
      endNodes(this.dataDir);
      rmSync(this.dataDir, { recursive: true, force: true });
    }
  }

  private async oneKill(): Promise<number> {
    await using cloud = await CloudProcess.start({ dataDir: this.dataDir, args: ['--log-level', 'error'] });
    await this.aProject(cloud);
    const afterMs = this.random(killWithinMs);
    const changes = Array.from({ length: 1 + this.random(2) }, () => this.changeOne(cloud));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await cloud.stop('SIGKILL');
    await Promise.all(changes);
    return afterMs;
  }

  private async aProject(cloud: CloudProcess): Promise<void> {
    if (this.projectId === '')
      this.projectId = (await cloud.request('POST', '/v2/projects', { name: 'killed' })).body.id;
  }

  /** Creates a cluster or deletes one; the outcome is known only when there was an answer. */
  private async changeOne(cloud: CloudProcess): Promise<void> {
    const living = [...this.known].filter(([, { deleted }]) => deleted === 'no').map(([name]) => name);
    const victim = living[this.random(living.length || 1)];
    if (victim !== undefined && (living.length >= clustersMax || this.random(2) === 0))
      await this.remove(cloud, victim);
    else await this.make(cloud, `c-${++this.count}`);
  }

  private async make(cloud: CloudProcess, name: string): Promise<void> {
    const known: Known = { created: 'maybe', deleted: 'no' };
    this.known.set(name, known);
    try {
      const cloudId = (await cloud.request('GET', '/v2/clouds')).body.data[0].id;
      const fields = { name, cloudId, projectId: this.projectId };
      const { status, body } = await cloud.request('POST', '/v2/clusters', fields);
      assert.equal(status, 202, JSON.stringify(body));
      known.created = 'yes';
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
  }

  private async remove(cloud: CloudProcess, name: string): Promise<void> {
    const known = this.known.get(name) as Known;
    known.deleted = 'maybe';
    try {
      const found = (await listed(cloud)).find((cluster) => cluster.name === name);
      if (found === undefined) return; // The creation may still be in progress.
      const { status, body } = await cloud.request('DELETE', `/v2/clusters/${found.id}`);
      assert.equal(status, 202, JSON.stringify(body));
      known.deleted = 'yes';
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
    }
  }

  /** Waits without kills until no operation runs; then nothing may be missing, doubled or left over. */
  private async checkWhenIdle(atEnd: boolean): Promise<string> {
    await using cloud = await CloudProcess.start({ dataDir: this.dataDir, args: ['--log-level', 'error'] });
    const clusters = await whenIdle(cloud);
    this.compare(clusters);
    await this.checkNodes(cloud, clusters);
    if (atEnd) {
      for (const { id } of clusters) await cloud.request('DELETE', `/v2/clusters/${id}`);
      assert.deepEqual(await whenIdle(cloud), []);
      for (const known of this.known.values()) known.deleted = 'yes';
      await this.checkNodes(cloud, []);
    }
    await cloud.stop('SIGKILL');
    this.checkRows(atEnd ? 0 : clusters.length);
    return `${clusters.length} clusters of ${this.known.size} requested, each with its one process`;
  }

  private compare(clusters: readonly Shown[]): void {
    const names = clusters.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length, `doubled: ${names}`);
    for (const { name, status } of clusters) assert.equal(status, 'ready', `${name} is ${status}`);
    for (const [name, known] of this.known) {
      if (known.created === 'yes' && known.deleted === 'no')
        assert.ok(names.includes(name), `${name} is lost`);
      if (known.deleted === 'yes') assert.ok(!names.includes(name), `${name} is still there`);
      known.created = 'yes';
      known.deleted = names.includes(name) ? 'no' : 'yes';
    }
  }

  private async checkNodes(cloud: CloudProcess, clusters: readonly Shown[]): Promise<void> {
    const processes = processesBelow(this.dataDir);
    assert.equal(processes.length, clusters.length, `processes: ${processes.join('\n')}`);
    const nodes = join(this.dataDir, 'nodes');
    assert.equal(existsSync(nodes) ? readdirSync(nodes).length : 0, clusters.length);
    assert.equal(cloud.nodePids().length, clusters.length);
    const rows = this.rows<{ name: string; node: string; address: string }>(
      'select clusters.name, nodes.id as node, nodes.address from nodes join clusters on clusters.id = nodes.cluster_id',
    );
    assert.equal(new Set(rows.map(({ address }) => address)).size, rows.length, 'an address is taken twice');
    for (const { name, node } of rows) this.samePid(name, node, processes);
    for (const { id } of clusters) {
      const { body } = await cloud.request('GET', `/v2/clusters/${id}/health`);
      assert.equal(body.health, 'healthy', JSON.stringify(body));
    }
  }

  private samePid(name: string, node: string, processes: readonly string[]): void {
    const pid = Number.parseInt(processes.find((line) => line.includes(node)) ?? '', 10);
    const known = this.known.get(name) as Known;
    assert.equal(known.pid ?? pid, pid, `${name} was started again`);
    known.pid = pid;
  }

  private checkRows(clusters: number): void {
    const count = (from: string): number =>
      this.rows<{ n: number }>(`select count(*) as n from ${from}`)[0]?.n ?? -1;
    assert.equal(count('clusters'), clusters);
    assert.equal(count('nodes'), clusters);
    assert.equal(count("operations where state = 'open'"), 0);
  }

  private rows<Row>(sql: string): Row[] {
    const database = new DatabaseSync(join(this.dataDir, 'cloud.db'), { readOnly: true });
    try {
      return database.prepare(sql).all() as Row[];
    } finally {
      database.close();
    }
  }
}

async function listed(cloud: CloudProcess): Promise<Shown[]> {
  const { body } = await cloud.request('GET', '/v2/clusters?perPage=100');
  const ids = body.data.map(({ id }: { id: string }) => id) as string[];
  const shown = ids.map(async (id) => (await cloud.request('GET', `/v2/clusters/${id}`)).body);
  return (await Promise.all(shown)).filter(({ id }) => id !== undefined);
}

async function whenIdle(cloud: CloudProcess): Promise<Shown[]> {
  const deadline = performance.now() + idleWaitMs;
  for (;;) {
    const clusters = await listed(cloud);
    if (clusters.every(({ status }) => !/job_scheduled|deploying|destroying/.test(status))) return clusters;
    assert.ok(
      performance.now() < deadline,
      `operations still run after ${idleWaitMs} ms: ${JSON.stringify(clusters)}\n${cloud.output}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The processes of nodes as the operating system lists them, not as the cloud recorded them. */
const processesBelow = (dataDir: string): string[] =>
  execFileSync('ps', ['-axww', '-o', 'pid=,stat=,command='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.includes(join(dataDir, 'nodes')) && !/^\d+ +Z/.test(line));

export const cloudKills = (
  kills: number,
  seed: number,
  report: (line: string) => void = () => {},
): Promise<void> => new Rounds(randomFrom(seed)).run(kills, report);

if (import.meta.main) {
  const seed = printedSeed(console.log);
  await cloudKills(Number(process.argv[2] ?? 30), seed, console.log);
}
