// The steps that move a shard to its planned nodes. Each step is one change of the bucket's map after which every shard still has its
// in-sync set: the new node receives a copy that clients do not see and joins the in-sync set, the old active stops, the new one is
// promoted and confirms its epoch, and copies that are not planned are dropped. Every step depends only on the map, so that another
// orchestrator can continue from it.
import type { BucketMap, ShardPlacement } from '../config/cluster-state.ts';
import {
  isGoalInSync,
  isInSync,
  isSameChain,
  promotedShard,
  shardMembers,
} from '../topology/promoted-shard.ts';

type Chain = readonly number[];

/** The map with the chains of `target` as the goal of its shards, for the plan of this id. */
export function startMoves(map: BucketMap, target: BucketMap, plan: string): BucketMap {
  const nodes = [...map.nodes, ...target.nodes.filter((id) => !map.nodes.includes(id))];
  const positions = target.nodes.map((id) => nodes.indexOf(id));
  const chains = target.shards.map(({ chain }) => chain.map((position) => positions[position] ?? -1));
  return { ...map, nodes, forward: { plan, chains } };
}

/** Whether each shard that is on a node now has a planned node. */
export const hasPlaces = (map: BucketMap): boolean => {
  const isPlace = (node: number): boolean => node >= 0;
  return map.shards.every(({ chain }, index) => !chain.some(isPlace) || goalOf(map, index).some(isPlace));
};

/** The map in which shards stay where they are. A shard whose active has already stopped continues to move, since another node is to serve it. */
export function stopMoves(map: BucketMap): BucketMap {
  const chains = map.shards.map((shard, index) => (hasStopped(shard) ? goalOf(map, index) : shard.chain));
  const shards = map.shards.map((shard) => (hasStopped(shard) ? shard : withoutSuccessor(shard)));
  return { ...map, shards, forward: { plan: map.forward?.plan ?? '', chains } };
}

/** The map without a goal, and without nodes that no shard refers to. */
export function endMoves({ forward: _, ...map }: BucketMap): BucketMap {
  const used = new Set(map.shards.flatMap((shard) => [...shardMembers(shard), ...syncedOf(shard)]));
  const nodes = map.nodes.filter((_, position) => used.has(position));
  const at = (position: number): number => nodes.indexOf(map.nodes[position] ?? '');
  return { ...map, nodes, shards: map.shards.map((shard) => renumbered(shard, at)) };
}

const syncedOf = ({ inSync = [] }: ShardPlacement): number[] => inSync.map(([position]) => position);

function renumbered(shard: ShardPlacement, at: (position: number) => number): ShardPlacement {
  return {
    ...shard,
    chain: shard.chain.map(at),
    ...(shard.incoming && { incoming: shard.incoming.map(at) }),
    ...(shard.inSync && { inSync: shard.inSync.map(([position, boot]) => [at(position), boot] as const) }),
    ...(shard.successor !== undefined && { successor: at(shard.successor) }),
  };
}

/** True when every shard is on its planned nodes, and its active serves it. */
export const isComplete = (map: BucketMap): boolean =>
  map.shards.every((shard, index) => isAtGoal(shard, goalOf(map, index)));

/** Whether every shard that is not on its planned nodes involves one of these nodes. */
export const waitsOnlyFor = (map: BucketMap, isOneOf: (node: string) => boolean): boolean =>
  map.shards.every((shard, index) => {
    const goal = goalOf(map, index);
    const nodes = [...involved(shard, goal), ...syncedOf(shard)].map((position) => map.nodes[position] ?? '');
    return isAtGoal(shard, goal) || nodes.some(isOneOf);
  });

/** The map after all steps that can be taken now; null: there is none. */
export function advance(map: BucketMap, movesPerNode: number): BucketMap | null {
  const moved = map.shards.map((shard, index) => (isMoving(shard) ? step(shard, goalOf(map, index)) : shard));
  const slots = new Slots(movesPerNode);
  for (const [index, shard] of moved.entries()) {
    if (isMoving(shard)) slots.occupy(involved(shard, goalOf(map, index)));
  }
  // Shards that have just reached their nodes make room for others in the same write.
  const shards = moved.map((shard, index) => {
    const goal = goalOf(map, index);
    const waits = shard === map.shards[index] && !isMoving(shard) && !isPlaced(shard, goal);
    return waits && slots.occupyIfFree(involved(shard, goal)) ? step(shard, goal) : shard;
  });
  return shards.every((shard, index) => shard === map.shards[index]) ? null : { ...map, shards };
}

/** How many shards are on their planned nodes: of all shards, or of those that a node has or is to have. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

export function progressOf(map: BucketMap): { all: Progress; byNode: Record<string, Progress> } {
  const shards = map.shards.map((shard, index) => {
    const goal = goalOf(map, index);
    return { isDone: isAtGoal(shard, goal), members: new Set([...shardMembers(shard), ...goal]) };
  });
  const count = (chosen: typeof shards): Progress => ({
    done: chosen.filter(({ isDone }) => isDone).length,
    total: chosen.length,
  });
  const byNode = map.nodes.map((id, position) => [
    id,
    count(shards.filter(({ members }) => members.has(position))),
  ]);
  return { all: count(shards), byNode: Object.fromEntries(byNode) };
}

/** One step of a shard that is not at its goal; the same shard: it waits for its active, or for a copy. */
function step(shard: ShardPlacement, goal: Chain): ShardPlacement {
  const [active = -1] = shard.chain;
  const [wanted = -1] = goal;
  if (active < 0) return { epoch: shard.epoch + 1, chain: goal };
  if (hasStopped(shard)) return promotedShard(shard, nextActive(shard, wanted), goal);
  if (shard.confirmed === undefined) return shard;
  const missing = goal.filter((node) => node >= 0 && !shardMembers(shard).includes(node));
  if (missing.length > 0) return { ...shard, incoming: [...(shard.incoming ?? []), ...missing] };
  // A successor is named only while all planned copies are in sync. Otherwise the set could have only one node after the move.
  if (!isGoalInSync(shard, goal) && !isSameChain(goal, shard.chain))
    return shard.successor === undefined ? shard : withoutSuccessor(shard);
  if (active === wanted) return atGoal(shard, goal);
  return shard.successor === wanted ? shard : { ...shard, successor: wanted };
}

/**
 * The member of the in-sync set that serves next: the wanted one, else another than the active, which may have stopped because it was
 * restarted and has lost what was only in memory.
 */
function nextActive(shard: ShardPlacement, wanted: number): number {
  const [active = -1] = shard.chain;
  const candidates = [shard.successor ?? wanted, wanted, ...shardMembers(shard)];
  return candidates.find((node) => node !== active && isInSync(shard, node)) ?? active;
}

/** The shard with its planned nodes only. Its active then removes the other nodes from the in-sync set. */
function atGoal(shard: ShardPlacement, goal: Chain): ShardPlacement {
  const { incoming: _, successor: __, ...rest } = shard;
  return { ...rest, chain: goal };
}

const isAtGoal = (shard: ShardPlacement, goal: Chain): boolean =>
  isPlaced(shard, goal) && syncedOf(shard).every((node) => goal.includes(node));

/** Whether the shard is where it should be: its active serves it, and no other node is to have a copy. */
const isPlaced = (shard: ShardPlacement, goal: Chain): boolean =>
  isSameChain(shard.chain, goal) && !isMoving(shard) && !hasStopped(shard) && isServed(shard);

/** A shard that never had another copy needs no confirmation. */
const isServed = ({ confirmed, inSync }: ShardPlacement): boolean =>
  confirmed !== undefined || inSync === undefined;

const isMoving = ({ incoming = [], successor }: ShardPlacement): boolean =>
  incoming.length > 0 || successor !== undefined;

const hasStopped = ({ stopped, epoch }: ShardPlacement): boolean => stopped === epoch;

const goalOf = ({ forward, shards }: BucketMap, index: number): Chain =>
  forward?.chains[index] ?? shards[index]?.chain ?? [];

const involved = (shard: ShardPlacement, goal: Chain): Set<number> =>
  new Set([...shardMembers(shard), ...goal.filter((node) => node >= 0)]);

function withoutSuccessor({ successor: _, ...rest }: ShardPlacement): ShardPlacement {
  return rest;
}

/** How many shards of each node move at once. */
class Slots {
  readonly #limit: number;
  readonly #taken = new Map<number, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  occupy(nodes: Iterable<number>): void {
    for (const node of nodes) this.#taken.set(node, this.#movesOf(node) + 1);
  }

  occupyIfFree(nodes: ReadonlySet<number>): boolean {
    if ([...nodes].some((node) => this.#movesOf(node) >= this.#limit)) return false;
    this.occupy(nodes);
    return true;
  }

  #movesOf(node: number): number {
    return this.#taken.get(node) ?? 0;
  }
}
