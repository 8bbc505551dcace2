// Makes the changes of a bucket's map that the data service of this node requests, by compare-and-set. A change is made only if this node
// is still the active of the shard in the map and the epoch fits; what the orchestrator or another active wrote meanwhile is kept.
import { UnwritableError } from '#base/unwritable-error.ts';
import type { MapChange, MapOutcome, ShardChange } from '#kv/admin.ts';
import type { Clock } from '#ports/clock.ts';
import { type Log, silentLog } from '#ports/log.ts';
import type { ConfigStore, Entry } from '#replog/config-store.ts';
import { type BucketMap, mapKey, type ShardPlacement } from '../config/cluster-state.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import {
  isGoalInSync,
  isHandedOver,
  isInSync,
  isSameChain,
  lastActiveOf,
  promotedShard,
  shardMembers,
} from '../topology/promoted-shard.ts';
import { wantedShards } from './wanted-shards.ts';

/** Several are needed, since the actives of other nodes write the same key. */
const attemptsMax = 20;
const pauseMs = 5;

type InSync = readonly (readonly [position: number, boot: string])[];

export class MapWriter {
  readonly #store: ConfigStore;
  readonly #identity: NodeIdentity;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Why the store did not make the last change, as logged; null: it made it. */
  #refusal: string | null = null;

  constructor(deps: { store: ConfigStore; identity: NodeIdentity; clock: Clock; log?: Log }) {
    this.#store = deps.store;
    this.#identity = deps.identity;
    this.#clock = deps.clock;
    this.#log = deps.log ?? silentLog;
  }

  /** A request without changes writes the map as it is: the outcome then shows what the map contains. */
  async change({ bucketUuid, changes }: MapChange): Promise<MapOutcome> {
    const problem = this.#store.problem ?? null;
    // Nothing is sent to a store that cannot be written now, since the outcome could stay unknown for long. The data service requests the
    // change again after a pause, if it is still needed. Until then the shard is served, and a copy that answers again need not leave the set.
    if (problem !== null && changes.every(isServedWithout)) return { kind: 'notMade', reason: problem };
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (attempt > 0) await this.#clock.sleep(pauseMs * attempt);
      const outcome = await this.#attempt(mapKey(bucketUuid), changes);
      if (outcome === null) continue;
      this.#logRefusal(bucketUuid, outcome);
      return outcome;
    }
    return { kind: 'notMade', reason: 'other nodes changed the map first at every attempt' };
  }

  /** Null: another write came first. */
  async #attempt(key: string, changes: readonly ShardChange[]): Promise<MapOutcome | null> {
    let entry: Entry<BucketMap> | null;
    try {
      entry = await this.#store.get<BucketMap>(key);
    } catch (error) {
      return { kind: 'notMade', reason: (error as Error).message };
    }
    if (entry === null) return { kind: 'notMade', reason: 'the bucket has no map' };
    try {
      const map = this.#changed(entry.value, changes);
      if (map === null) return this.#outcome('refused', entry.value, entry.revision);
      const revision = await this.#store.put(key, map, entry.revision);
      return revision === null ? null : this.#outcome('done', map, revision);
    } catch (error) {
      const { message: reason } = error as Error;
      if (error instanceof UnwritableError && error.isUnchanged) return { kind: 'notMade', reason };
      // A later attempt could find the map with the change of this attempt, and could not know who made it.
      return { kind: 'unknown', reason };
    }
  }

  /** Once, although the data service requests the change again and again. */
  #logRefusal(bucket: string, outcome: MapOutcome): void {
    const reason = outcome.kind === 'notMade' ? outcome.reason : null;
    if (reason !== null && reason !== this.#refusal) this.#log.warn('map.not_written', { bucket, reason });
    this.#refusal = reason;
  }

  #outcome(kind: 'done' | 'refused', map: BucketMap, revision: number): MapOutcome {
    return { kind, revision, shards: wantedShards(map, this.#identity.nodeId) };
  }

  /** Null where one of the changes does not apply. */
  #changed(map: BucketMap, changes: readonly ShardChange[]): BucketMap | null {
    const shards = [...map.shards];
    for (const change of changes) {
      const placement = shards[change.shard];
      const changed = placement && this.#placed(map, placement, change);
      if (!changed) return null;
      shards[change.shard] = changed;
    }
    return { ...map, shards };
  }

  /** The placement of the shard after the change; null where the change does not apply. */
  #placed(map: BucketMap, placement: ShardPlacement, change: ShardChange): ShardPlacement | null {
    const { nodes } = map;
    const { nodeId, bootId } = this.#identity;
    const ownIndex = nodes.indexOf(nodeId);
    /** The chain to which the running rebalance moves the shard. */
    const goal = map.forward?.chains[change.shard] ?? [];
    if (ownIndex < 0 || placement.chain[0] !== ownIndex) return null;
    const last = lastActiveOf(placement)?.node ?? nodeId;
    if (change.kind === 'confirm') {
      // Where the others have lost their memory, too, only the last active has on its disk what was acknowledged as persisted.
      const named = last === nodeId ? (change.restarted ?? []) : [];
      const restarted = named.map((node) => nodes.indexOf(node));
      const served = confirmed(placement, ownIndex, bootId, { ...change, restarted });
      if (served === null) return null;
      // The disk of this node lacks some of the shard: the earlier active stays the last active.
      if (change.isUnwritten && last !== nodeId && isInSync(served, nodes.indexOf(last)))
        return { ...served, lastActive: { node: last, epoch: change.epoch } };
      const isMove = isHandedOver(placement) && change.epoch === placement.epoch && restarted.length === 0;
      return isMove ? movedTo(served, goal) : served;
    }
    if (placement.epoch !== change.epoch) return null;
    if (change.kind === 'stop') {
      const { confirmed: servingBoot, handedOver: _, ...rest } = placement;
      // An active that has not confirmed its promotion has not served: the record that the earlier active has stopped is kept.
      const { epoch, isComplete } = change;
      const ended = { stopped: epoch, lastActive: { node: last, epoch } };
      const stopped =
        servingBoot === undefined ? rest : { ...rest, ...ended, ...(isComplete && { handedOver: epoch }) };
      const successor = change.successor === undefined ? -1 : nodes.indexOf(change.successor);
      if (!isInSync(placement, successor)) return servingBoot === undefined ? null : stopped;
      return promotedShard(stopped, successor, goal[0] === successor ? goal : placement.chain);
    }
    if (placement.confirmed !== bootId) return null;
    // Without `lastActive` the active is the last active: its disk has the whole shard.
    const { lastActive: _, ...written } = placement;
    if (change.kind === 'written') {
      if (change.by === undefined) return written;
      const lastActive = { node: change.by, epoch: change.epoch };
      return isInSync(placement, nodes.indexOf(change.by)) ? { ...written, lastActive } : null;
    }
    const inSync: InSync = placement.inSync ?? [[ownIndex, bootId]];
    if (change.kind === 'join') {
      const joining = nodes.indexOf(change.member.node);
      const others = inSync.filter(([position]) => position !== joining);
      // A node to which the map gives no copy may have removed the copy that it reported.
      if (joining === ownIndex || !shardMembers(placement).includes(joining)) return null;
      const joined: ShardPlacement = { ...placement, inSync: [...others, [joining, change.member.boot]] };
      // Names the successor in this write, so that the orchestrator need not write the map for that.
      const [wanted = -1] = goal;
      return wanted >= 0 && wanted !== ownIndex && isGoalInSync(joined, goal)
        ? { ...joined, successor: wanted }
        : joined;
    }
    const leaving = nodes.indexOf(change.node);
    const before = change.isWritten ? written : placement;
    return leaving === ownIndex || lastActiveOf(before)?.node === change.node
      ? null
      : { ...before, inSync: inSync.filter(([position]) => position !== leaving) };
  }
}

/** Whether this process serves the shard although the change is not made. A complete handover that is not stored ends, and begins again later. */
const isServedWithout = (change: ShardChange): boolean =>
  change.kind === 'stop' ? change.isComplete === true : change.kind !== 'confirm';

/** Null where this boot may not become active: its epoch is over, or its memory may lack what the in-sync set acknowledged. */
function confirmed(
  placement: ShardPlacement,
  ownIndex: number,
  boot: string,
  { continues, epoch, restarted }: { continues?: string; epoch: number; restarted: readonly number[] },
): ShardPlacement | null {
  const { handedOver: _, lastActive: __, stopped: ___, ...rest } = placement;
  const inSync: InSync = placement.inSync ?? [[ownIndex, boot]];
  const member = inSync.find(([position]) => position === ownIndex);
  const isOwn = member !== undefined && [boot, continues].includes(member[1]);
  const isOnlyOne = inSync.every(([position]) => position === ownIndex || restarted.includes(position));
  const isWhole = member !== undefined && (isOwn || isOnlyOne);
  // Only one boot may confirm an epoch.
  const isTaken = placement.confirmed !== undefined && placement.confirmed !== boot;
  const isOver = epoch < placement.epoch || (epoch === placement.epoch && isTaken);
  const hasStopped = placement.stopped !== undefined && epoch <= placement.stopped;
  if (!isWhole || isOver || hasStopped) return null;
  const own: InSync[number] = [ownIndex, boot];
  const members = isOwn ? inSync.map((other) => (other === member ? own : other)) : [own];
  return { ...rest, epoch, confirmed: boot, inSync: members };
}

/**
 * The confirmed shard after its move. Removes from the in-sync set the nodes that are not in the new chain: its other members have all changes
 * of the shard. Unchanged if no majority of the new chain would remain in the set.
 */
function movedTo(shard: ShardPlacement, goal: readonly number[]): ShardPlacement {
  const { incoming: _, ...rest } = shard;
  const inSync = (shard.inSync ?? []).filter(([position]) => goal.includes(position));
  return isSameChain(shard.chain, goal) && inSync.length > goal.length / 2 ? { ...rest, inSync } : shard;
}
