// Nodes of a cloud without processes: a provisioner, and the calls of the REST API by which the cloud makes clusters of them. Each effect
// can be interrupted, before or after it, as by a kill of the cloud.
import assert from 'node:assert/strict';
import { ClusterNodes, placementOf } from '#cloud/clusters/cluster-nodes.ts';
import type { NodeClient } from '#cloud/node-client/node-client.ts';
import { UnresponsiveNodeError } from '#cloud/node-client/refusals.ts';
import type { NodePorts, NodeSpec, Placement, Provisioner } from '#cloud/provisioner/provisioner.ts';
import type { ClusterRow, NodeRow } from '#cloud/store/tables.ts';

interface SimulatedNode {
  isRunning: boolean;
  name: string | null;
  services: string;
  membership: string;
  /** The address of the founder of its cluster; its own while it is alone. */
  founder: string;
}

type Fields = Readonly<Record<string, string | number>>;

const restPort = 8091;
const pollsOfRebalance = 3;

export class KilledError extends Error {
  override readonly name = 'KilledError';
}

export class SimulatedNodes {
  /** By address. */
  readonly nodes = new Map<string, SimulatedNode>();
  /** The addresses of nodes with data, by node id. */
  readonly folders = new Map<string, string>();
  memoryQuota = 0;
  /** The roles of database users, by the path of the user. */
  readonly roles = new Map<string, string>();
  /** Calls that arrived at nodes. */
  readonly calls: string[] = [];
  /** The effect at which the cloud is killed, and on which side of it. */
  kill: { at: number; side: 'before' | 'after' } | null = null;
  effects = 0;
  private rebalance: { polls: number; ejected: readonly string[] } | null = null;
  private isBalanced = true;
  private places = 0;

  readonly provisioner: Provisioner = {
    place: () =>
      this.effect(() => ({
        address: `127.64.0.${++this.places}`,
        ports: { rest: restPort, kv: 11210 } as NodePorts,
      })),
    start: (spec) => this.effect(() => this.start(spec)),
    resume: (spec) => this.effect(() => this.resume(spec)),
    remove: (id) => this.effect(() => this.remove(id)),
    downReason: () => null,
    existingNodes: async () => [],
    close: async () => {},
  };

  /** The nodes of a cluster by their names, as its founder lists them. */
  membersOf(founder: string): string[] {
    return [...this.nodes]
      .filter(([, node]) => node.founder === founder)
      .map(([address, { membership }]) => `${address} ${membership}`);
  }

  async call(address: string, method: string, path: string, fields: Fields = {}): Promise<string> {
    if (method === 'GET') return this.answer(address, path, fields);
    return await this.effect(() => this.answer(address, path, fields));
  }

  setRoles(path: string, roles: string): Promise<void> {
    return this.effect(() => void this.roles.set(path, roles));
  }

  private answer(address: string, path: string, fields: Fields): string {
    const node = this.nodes.get(address);
    if (!node?.isRunning) throw new UnresponsiveNodeError(`${address} does not run`);
    this.calls.push(`${address} ${path}`);
    const act = this.actions[path];
    assert.ok(act !== undefined, `simulated nodes do not serve ${path}`);
    return JSON.stringify(act(address, node, fields));
  }

  private readonly actions: Readonly<
    Record<string, (address: string, node: SimulatedNode, fields: Fields) => unknown>
  > = {
    '/pools/default': (address, _, fields) => {
      if (fields['memoryQuota'] !== undefined) this.memoryQuota = Number(fields['memoryQuota']);
      this.advanceRebalance();
      return {
        nodes: [...this.nodes].flatMap(([at, node]) =>
          node.founder === address ? [memberOf(at, node)] : [],
        ),
        balanced: this.isBalanced && this.rebalance === null && this.areActive(address),
        rebalanceStatus: this.rebalance === null ? 'none' : 'running',
        memoryQuota: this.memoryQuota,
      };
    },
    '/pools/default/rebalanceProgress': () => ({ status: 'none' }),
    '/node/controller/rename': (address, node, { hostname }) => {
      assert.deepEqual(this.membersOf(address).length, 1, 'a member of a cluster was renamed');
      node.name = hostname as string;
    },
    '/controller/addNodeV2': (address, founder, { hostname, services }) => {
      const added = new URL(hostname as string).hostname;
      const node = this.nodes.get(added);
      assert.ok(
        node?.isRunning && node.name === added && founder.name === address,
        'a node was added before both nodes had their names',
      );
      assert.equal(node.founder, added, 'a member of another cluster was added');
      Object.assign(node, { founder: address, membership: 'inactiveAdded', services });
      this.isBalanced = false;
    },
    '/controller/setRecoveryType': (_, __, { otpNode }) => {
      (this.nodes.get(addressIn(otpNode as string)) as SimulatedNode).membership = 'inactiveAdded';
    },
    '/controller/ejectNode': (_, __, { otpNode }) => {
      this.leave(addressIn(otpNode as string));
    },
    '/controller/rebalance': (address, _, { knownNodes, ejectedNodes }) => {
      const knownAddresses = (knownNodes as string).split(',').map(addressIn).sort();
      const members = [...this.nodes].filter(([, { founder }]) => founder === address).map(([at]) => at);
      assert.deepEqual(knownAddresses, members.sort());
      const ejected = (ejectedNodes as string).split(',').filter(Boolean).map(addressIn);
      assert.ok(!ejected.includes(address), 'a rebalance would remove the founder');
      this.rebalance ??= { polls: 0, ejected };
    },
  };

  private areActive(founder: string): boolean {
    return this.membersOf(founder).every((member) => member.endsWith(' active'));
  }

  private advanceRebalance(): void {
    if (this.rebalance === null || ++this.rebalance.polls < pollsOfRebalance) return;
    const { ejected } = this.rebalance;
    for (const address of ejected) this.leave(address);
    for (const node of this.nodes.values())
      if (node.membership === 'inactiveAdded') node.membership = 'active';
    this.isBalanced = true;
    this.rebalance = null;
  }

  private leave(address: string): void {
    const node = this.nodes.get(address);
    if (node !== undefined) Object.assign(node, alone(address), { isRunning: node.isRunning });
  }

  private start({ id, address, memoryMb }: NodeSpec): void {
    const existing = this.nodes.get(address);
    if (this.folders.get(id) === undefined && this.nodes.size === 0) this.memoryQuota = memoryMb;
    this.folders.set(id, address);
    if (existing === undefined) this.nodes.set(address, alone(address));
    else existing.isRunning = true;
  }

  private resume(spec: NodeSpec): void {
    assert.equal(this.folders.get(spec.id), spec.address, 'a node without data was resumed');
    this.start(spec);
  }

  private remove(id: string): void {
    const address = this.folders.get(id);
    this.folders.delete(id);
    if (address !== undefined) this.nodes.delete(address);
  }

  /** Nodes stop with a cloud that is stopped; those of a killed one may die as well. */
  stopAll(): void {
    for (const node of this.nodes.values()) node.isRunning = false;
  }

  private async effect<T>(act: () => T): Promise<T> {
    const isNow = this.effects++ === this.kill?.at;
    if (isNow && this.kill?.side === 'before') throw new KilledError();
    const result = act();
    if (isNow) throw new KilledError();
    return result;
  }
}

/** The nodes of rows, with clients of simulated nodes. */
export class SimulatedClusterNodes extends ClusterNodes {
  private readonly simulated: SimulatedNodes;

  constructor(options: ConstructorParameters<typeof ClusterNodes>[0], simulated: SimulatedNodes) {
    super(options);
    this.simulated = simulated;
  }

  override clientOf(_: ClusterRow, node: NodeRow): NodeClient {
    const { address }: Placement = placementOf(node);
    const client: Partial<NodeClient> = {
      request: (method, path, content) => this.simulated.call(address, method, path, content as Fields),
      certificate: async () => 'PEM',
      createProbeBucket: async () => {},
      writeAndRead: async () => {},
      send: async (method, path, content) => {
        const { roles } = (content ?? {}) as Fields;
        if (method === 'PUT' && roles !== undefined) await this.simulated.setRoles(path, roles as string);
        return { status: 200, body: '' };
      },
    };
    return client as NodeClient;
  }
}

const alone = (address: string): SimulatedNode => ({
  isRunning: true,
  name: null,
  services: 'kv',
  membership: 'active',
  founder: address,
});

const memberOf = (address: string, { isRunning, membership }: SimulatedNode) => ({
  otpNode: `ns_1@${address}`,
  hostname: `${address}:${restPort}`,
  status: isRunning ? 'healthy' : 'unhealthy',
  clusterMembership: membership,
});

const addressIn = (otpNode: string): string => otpNode.split('@')[1] as string;
