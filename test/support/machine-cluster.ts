// A cluster whose nodes run on machines of their own (network namespaces), with the faults that can happen to them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinNodes } from './join-nodes.ts';
import { NamespaceNetwork } from './namespace-network.ts';
import { NodeProcess } from './node-process.ts';

export const dataPort = 11210;
const ports = {
  ...{ rest: 8091, 'rest-tls': 18091, kv: dataPort, 'kv-tls': 11207, 'dist-tls': 21150, replication: 21200 },
};
const startMs = 120_000;

interface Pool {
  nodes: { otpNode: string; hostname: string }[];
}

export class MachineCluster {
  readonly network: NamespaceNetwork;
  private readonly folder = mkdtempSync(join(tmpdir(), 'divan-machines-'));
  private readonly nodes: NodeProcess[] = [];
  private readonly failedOver = new Set<number>();

  private constructor(size: number) {
    this.network = NamespaceNetwork.of(size);
  }

  /** All nodes are active members. The first one is the founder. */
  static async of(size: number): Promise<MachineCluster> {
    const cluster = new MachineCluster(size);
    try {
      await Promise.all(Array.from({ length: size }, (_, at) => cluster.start(at)));
      await joinNodes(cluster.node(0), cluster.nodes.slice(1));
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The nodes that were not failed over. */
  get members(): NodeProcess[] {
    return this.nodes.filter((_, at) => !this.failedOver.has(at));
  }

  node(at: number): NodeProcess {
    return this.nodes[at] as NodeProcess;
  }

  get connectionString(): string {
    return `couchbase://${this.nodes.map((_, at) => this.network.addressOf(at)).join(',')}`;
  }

  /** Starts the node, on its data folder if it ran before. */
  async start(at: number): Promise<void> {
    this.nodes[at] = await NodeProcess.start({
      ...{ ports, startMs, within: this.network.commandOn(at), dataDir: join(this.folder, String(at)) },
      unprovisioned: at > 0,
      args: [
        '--host',
        this.network.addressOf(at),
        '--services',
        'kv',
        '--memory-quota',
        '256',
        '--log-level',
        'info',
      ],
    });
  }

  async createBucket(name: string, replicaNumber: number): Promise<void> {
    const fields = { name, ramQuotaMB: '100', replicaNumber: String(replicaNumber) };
    const answer = await this.node(0).request('/pools/default/buckets', 'POST', fields);
    assert.equal(answer.status, 202, await answer.text());
  }

  /** Fails a node over by a request to another one, as an operator does. Returns the status. */
  async failOver(at: number, by: number): Promise<number> {
    const known = (await this.pool(by)).nodes.find(({ hostname }) => hostname === this.hostname(at));
    const fields = { otpNode: known?.otpNode ?? '' };
    const answer = await this.node(by).request('/controller/failOver', 'POST', fields);
    await answer.text();
    if (answer.status === 200) this.failedOver.add(at);
    return answer.status;
  }

  /** What the nodes logged last, and whether they run. */
  async report(): Promise<string> {
    return this.nodes
      .map(({ output, running }, at) => `node ${at}${running ? '' : ' (ended)'}:\n${output.slice(-2_000)}`)
      .join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
    this.network[Symbol.dispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private hostname(at: number): string {
    return `${this.network.addressOf(at)}:${ports.rest}`;
  }

  private async pool(at: number): Promise<Pool> {
    return (await (await this.node(at).request('/pools/default')).json()) as Pool;
  }
}
