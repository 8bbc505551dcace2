// When this process may confirm in the map that it is the active of a shard, and by which change.
import type { Clock } from '#ports/clock.ts';
import type { ShardChange, ShardSpec, SyncMember } from '../admin.ts';
import { changesAfterRestart } from './after-restart.ts';
import type { ContinuedBoots } from './continued-boots.ts';
import type { EarlierActives } from './earlier-actives.ts';
import type { ShardDrops } from './shard-drops.ts';

interface ConfirmationParts {
  shard: number;
  /** The highest epoch of the shard that any message named. */
  epoch: number;
  self: SyncMember;
  /** Vbuckets whose removal is under way are removed first: the disk may still have rows of them. */
  drops: Pick<ShardDrops, 'isDropping'>;
  earlier: Pick<EarlierActives, 'countsBoots' | 'needsPromise' | 'servesUntilMs'>;
  boots: Pick<ContinuedBoots, 'own' | 'stateOf'>;
  /** Until this time, promises may be valid that were made for the bucket before this engine. */
  promisedUntilMs: number;
  /** The engine of the bucket before this one belonged to an earlier process. */
  followsEarlierProcess: boolean;
  clock: Clock;
}

/** Whether the map names this node, but not this process, as the active. */
export const isUnconfirmed = ({ confirmed, state }: ShardSpec, boot: string): boolean =>
  state === 'active' && confirmed !== boot;

/** The change of the map that confirms the epoch. Empty while another node may still serve the shard, or while this node removes it. */
export function confirmation(spec: ShardSpec, parts: ConfirmationParts): ShardChange[] {
  const { boots, clock, drops, earlier, promisedUntilMs, self, shard } = parts;
  if (!isUnconfirmed(spec, self.boot) || drops.isDropping(shard)) return [];
  const highestEpoch = Math.max(spec.epoch, parts.epoch);
  const epoch = spec.confirmed === undefined ? highestEpoch : Math.max(highestEpoch, spec.epoch + 1);
  const members = spec.inSync ?? [];
  const own = members.find(({ node }) => node === self.node)?.boot;
  const continues = own !== undefined && boots.own.includes(own) ? own : undefined;
  // Where the set has no other node, none has more writes than this one.
  const hasAllWrites = members.length <= 1 || own === self.boot || continues !== undefined;
  if (spec.stopped !== undefined && epoch <= spec.stopped) return [];
  if (!hasAllWrites) return changesAfterRestart(spec, { shard, epoch, self: self.node, boots });
  // A node that is alone in the in-sync set without a confirmed active was named by an unsafe failover. The active before it may still serve.
  const isAlone = members.length === 0 || (members.length === 1 && spec.confirmed !== undefined);
  // This process continues the active. Since the active confirmed, no process of an earlier epoch has served.
  const wasActive = continues !== undefined && boots.own.includes(spec.confirmed ?? '');
  const mayConfirmNow = isAlone || wasActive || spec.stopped !== undefined || !earlier.needsPromise(shard);
  // An active that put this process into the set counts on its promises from then on, no longer on those of the process before it.
  const isCounted =
    parts.followsEarlierProcess && members.length > 1 && own === self.boot && earlier.countsBoots(shard);
  const untilMs = Math.max(isCounted ? -Infinity : promisedUntilMs, earlier.servesUntilMs(shard));
  return mayConfirmNow || clock.monotonicMs() >= untilMs
    ? [{ shard, epoch, kind: 'confirm', ...(continues !== undefined && { continues }) }]
    : [];
}
