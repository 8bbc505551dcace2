// Plans which nodes hold which shards of a bucket: balanced, copies in different server groups, and with the fewest copies to fill (new ones,
// which must receive all documents). Two steps, each solved exactly: first the nodes of every shard, then which of them is the active.
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import { FlowNetwork } from './min-cost-flow.ts';
import { paddedChain, shardCount } from './vbucket-map.ts';

/** A node that may hold data. */
export interface DataNode {
  readonly id: string;
  /** Nodes of one server group may fail together. */
  readonly group: string;
}

export interface PlanMapOptions {
  readonly nodes: readonly DataNode[];
  /** How many copies besides the active are wanted. */
  readonly replicas: number;
  /** Null: the bucket is new. */
  readonly current: BucketMap | null;
}

/**
 * Costs, the most important first. Each weight is larger than the savings in all smaller costs that one exchange of copies (at most one to each
 * node) allows.
 */
const weight = { group: 2 ** 42, balance: 2 ** 28, fill: 2 ** 20, keepActive: 2 ** 12, spread: 1 } as const;
const spreadMax = 16;

/** The ids of the nodes of one shard, the active first; null where there is none. */
type Holders = readonly (string | null)[];

/**
 * Plans the bucket's map. Its `nodes` are the planned ones in their order; epochs are those of the current map.
 * Actives differ by at most one shard between any two nodes, and so do all copies where server groups allow it. No node holds a shard
 * twice: with too few nodes, -1 stands for the missing copies.
 */
export function planMap({ nodes, replicas, current }: PlanMapOptions): BucketMap {
  const before = holdersOf(current);
  const sets = chooseHolders(nodes, Math.min(replicas + 1, nodes.length), before);
  const actives = chooseActives(nodes, sets, before);
  const positions = new Map(nodes.map(({ id }, position) => [id, position]));
  return {
    nodes: nodes.map(({ id }) => id),
    shards: sets.map((set, shard) => ({
      epoch: current?.shards[shard]?.epoch ?? 1,
      chain: chainOf(positions, set, actives[shard], before[shard] ?? [], replicas + 1),
    })),
  };
}

function holdersOf(map: BucketMap | null): Holders[] {
  const nameOf = (position: number): string | null => map?.nodes[position] ?? null;
  const shards = map?.shards ?? Array.from({ length: shardCount }, () => ({ chain: [] }));
  return shards.map(({ chain }) => chain.map(nameOf));
}

/** The set of nodes of each shard: a flow from the source through shards, their groups and the nodes to the sink. Each unit is a copy. */
function chooseHolders(nodes: readonly DataNode[], copies: number, before: readonly Holders[]): string[][] {
  const network = new FlowNetwork();
  const [source, sink] = [network.addVertex(), network.addVertex()];
  const nodeVertices = addNodeVertices(network, nodes, sink);
  const groups = groupsOf(nodes);
  const choices = before.map((holders, shard) => {
    const shardVertex = network.addVertex();
    network.addEdge(source, shardVertex, copies, 0);
    return groups.flatMap((members) => {
      const group = network.addVertex();
      // Each further copy in the same group costs more than the one before.
      for (let count = 0; count < copies; count++)
        network.addEdge(shardVertex, group, 1, count * weight.group);
      return members.map(({ id, position }) => {
        const cost = holdingCost(holders, id) + spreadCost(shard, position);
        return { id, edge: network.addEdge(group, nodeVertices[position] as number, 1, cost) };
      });
    });
  });
  network.fill(source, sink);
  return choices.map((options) => options.filter(({ edge }) => network.flow(edge) > 0).map(({ id }) => id));
}

/** The active of each shard, one of its nodes; undefined where it has none. A flow from the source through shards and their nodes to the sink. */
function chooseActives(
  nodes: readonly DataNode[],
  sets: readonly (readonly string[])[],
  before: readonly Holders[],
): (string | undefined)[] {
  const network = new FlowNetwork();
  const [source, sink] = [network.addVertex(), network.addVertex()];
  const nodeVertices = new Map(
    addNodeVertices(network, nodes, sink).map((vertex, position) => [nodes[position]?.id, vertex]),
  );
  const choices = sets.map((set, shard) => {
    const shardVertex = network.addVertex();
    network.addEdge(source, shardVertex, 1, 0);
    return set.map((id) => {
      const vertex = nodeVertices.get(id) as number;
      return { id, edge: network.addEdge(shardVertex, vertex, 1, activatingCost(before[shard] ?? [], id)) };
    });
  });
  network.fill(source, sink);
  return choices.map((options) => options.find(({ edge }) => network.flow(edge) > 0)?.id);
}

/** Adds a vertex for each node, from which each further shard costs more than the one before. */
function addNodeVertices(network: FlowNetwork, nodes: readonly DataNode[], sink: number): number[] {
  return nodes.map(() => {
    const vertex = network.addVertex();
    for (let count = 1; count <= shardCount; count++)
      network.addEdge(vertex, sink, 1, count * weight.balance);
    return vertex;
  });
}

/** What it costs that a node holds a shard: nothing at its present active, most where a new copy must be filled. */
function holdingCost(holders: Holders, id: string): number {
  const member = holders.indexOf(id);
  if (member === 0) return 0;
  return member > 0 ? weight.keepActive : weight.fill;
}

/**
 * What it costs that a node is the active: nothing at the present one. A new copy cannot serve until it is filled; but since the copies are chosen
 * already, its cost is only that of two actives that move to copies which exist.
 */
function activatingCost(holders: Holders, id: string): number {
  return Math.min(holdingCost(holders, id), 2 * weight.keepActive);
}

/** Spreads replicas: otherwise all replicas of a node's shards would be on one other node, which would do all its work after a failover. */
function spreadCost(shard: number, position: number): number {
  const mixed = Math.imul((shard + 1) * 0x9e3779b1 + position, 0x85ebca6b);
  return weight.spread * (((mixed ^ (mixed >>> 13)) >>> 0) % spreadMax);
}

type Group = readonly { readonly id: string; readonly position: number }[];

function groupsOf(nodes: readonly DataNode[]): Group[] {
  const members = nodes.map(({ id, group }, position) => ({ id, group, position }));
  return Object.values(Object.groupBy(members, ({ group }) => group)).map((group) => group ?? []);
}

/** Copies that stay keep their positions in the chain, unless one of them becomes the active. */
function chainOf(
  positions: ReadonlyMap<string, number>,
  set: readonly string[],
  active: string | undefined,
  before: Holders,
  length: number,
): ShardPlacement['chain'] {
  const others = set.filter((id) => id !== active);
  const replicas: (string | undefined)[] = Array.from({ length: length - 1 }, (_, index) =>
    others.find((id) => id === before[index + 1]),
  );
  const rest = others.filter((id) => !replicas.includes(id));
  const filled = replicas.map((id) => id ?? rest.shift());
  const ids = [active, ...filled.filter((id) => id !== undefined)];
  return paddedChain(
    ids.map((id) => positions.get(id ?? '') ?? -1),
    length,
  );
}
