// A cluster whose nodes run on machines of their own (network namespaces), with the faults that can happen to them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinNodes, rebalance } from './join-nodes.ts';
import { Machine } from './machine.ts';
import { NamespaceNetwork } from './namespace-network.ts';
import { natsServerPath } from './nats-binary.ts';
import { NatsCluster } from './nats-servers.ts';
import { eventuallyWithin, NodeProcess } from './node-process.ts';
import { type FaultyServer, OwnNatsServer } from './own-nats-server.ts';

export const dataPort = 11210;
const ports = {
  rest: 8091,
  'rest-tls': 18091,
  kv: dataPort,
  'kv-tls': 11207,
  'dist-tls': 21150,
  replication: 21200,
};
const startTimeoutMs = 120_000;
const movedTimeoutMs = 120_000;

/**
 * Where the nodes have their configuration: on the first one, the founder; on three NATS servers on machines of their own; or on NATS
 * servers that the nodes run.
 */
export const engines = ['embedded', 'nats', 'own-nats'] as const;
export type Engine = (typeof engines)[number];
const natsSize = 3;

interface Pool {
  nodes: { otpNode: string; hostname: string }[];
}

export class MachineCluster {
  readonly network: NamespaceNetwork;
  private readonly folder = mkdtempSync(join(tmpdir(), 'divan-machines-'));
  private readonly machines: Machine[] = [];
  private readonly nodes: NodeProcess[] = [];
  private readonly size: number;
  private readonly engine: Engine;
  private nats: NatsCluster | null = null;

  private constructor(size: number, engine: Engine) {
    this.size = size;
    this.engine = engine;
    this.network = NamespaceNetwork.create(engine === 'nats' ? size + natsSize : size);
  }

  /** Starts the nodes; resolves once all are active members of one cluster. */
  static async start(size: number, engine: Engine = 'embedded'): Promise<MachineCluster> {
    const cluster = new MachineCluster(size, engine);
    try {
      if (engine === 'nats') await cluster.startNats();
      for (let at = 0; at < size; at++) cluster.machines.push(new Machine(join(cluster.folder, String(at))));
      await Promise.all(Array.from({ length: size }, (_, at) => cluster.start(at)));
      await joinNodes(cluster.node(0), cluster.nodes.slice(1));
      if (engine === 'own-nats')
        await eventuallyWithin(movedTimeoutMs, () =>
          assert.ok(cluster.ownServers.every(({ isUsed }) => isUsed)),
        );
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  get all(): readonly NodeProcess[] {
    return this.nodes;
  }

  node(at: number): NodeProcess {
    return this.nodes[at] as NodeProcess;
  }

  machine(at: number): Machine {
    return this.machines[at] as Machine;
  }

  get natsServers(): readonly FaultyServer[] {
    return this.nats?.servers ?? this.ownServers;
  }

  private get ownServers(): readonly OwnNatsServer[] {
    if (this.engine !== 'own-nats') return [];
    return this.machines.map(({ dataDir }) => new OwnNatsServer(dataDir));
  }

  /** The machine of a NATS server, in the network. */
  machineOfNats(server: number): number {
    return this.engine === 'own-nats' ? server : this.size + server;
  }

  get connectionString(): string {
    return `couchbase://${this.nodes.map((_, at) => this.network.addressOf(at)).join(',')}`;
  }

  /** Starts the node, on its data folder if it ran before. */
  async start(at: number): Promise<void> {
    const { dataDir, environment } = this.machine(at);
    this.nodes[at] = await NodeProcess.start({
      ports,
      startMs: startTimeoutMs,
      within: this.network.commandOn(at),
      dataDir,
      environment,
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
        // The others learn of the servers when they join.
        ...(this.nats !== null && at === 0 ? ['--engine', this.nats.url] : []),
        ...(this.engine === 'own-nats' ? ['--engine', 'nats', '--nats-server', natsServerPath] : []),
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
    const fields = { otpNode: await this.otpNodeOf(at, by) };
    const answer = await this.node(by).request('/controller/failOver', 'POST', fields);
    await answer.text();
    return answer.status;
  }

  /** Brings a node back that was failed over, by requests to another one. */
  async recover(at: number, by: number, recoveryType: 'delta' | 'full'): Promise<void> {
    const fields = { otpNode: await this.otpNodeOf(at, by), recoveryType };
    const answer = await this.node(by).request('/controller/setRecoveryType', 'POST', fields);
    assert.equal(answer.status, 200, await answer.text());
    await rebalance(this.node(by));
  }

  /** What the nodes logged last, and whether they run. */
  async report(): Promise<string> {
    return this.nodes
      .map(({ output, running }, at) => `node ${at}${running ? '' : ' (ended)'}:\n${output.slice(-2_000)}`)
      .join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
    await this.nats?.[Symbol.asyncDispose]();
    this.network[Symbol.dispose]();
    for (const machine of this.machines) machine[Symbol.dispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startNats(): Promise<void> {
    const machines = Array.from({ length: natsSize }, (_, server) => {
      const machine = this.machineOfNats(server);
      return { host: this.network.addressOf(machine), within: this.network.commandOn(machine) };
    });
    this.nats = await NatsCluster.start({ machines });
  }

  private async otpNodeOf(at: number, by: number): Promise<string> {
    const { nodes } = await this.pool(by);
    return nodes.find(({ hostname }) => hostname === this.hostname(at))?.otpNode ?? '';
  }

  private hostname(at: number): string {
    return `${this.network.addressOf(at)}:${ports.rest}`;
  }

  private async pool(at: number): Promise<Pool> {
    return (await (await this.node(at).request('/pools/default')).json()) as Pool;
  }
}
