// Chooses among several answers about the place of the configuration.
import { type StoreTerm, supersedes } from '#replog/mirror/config-link.ts';
import type { LaterPlace } from './join-messages.ts';

/**
 * The answer with the highest epoch. Of answers with the same epoch, one with a place is preferred to a removal: the configuration at that place says
 * whether this node is a member, and a node that was down may not know that this node has joined again.
 */
export function latestPlace(places: readonly LaterPlace[]): LaterPlace | null {
  const removalRank = (place: LaterPlace): number => ('isRemoved' in place ? 1 : 0);
  const isPreferred = (a: LaterPlace, b: LaterPlace): boolean =>
    a.epoch === b.epoch && removalRank(a) !== removalRank(b)
      ? removalRank(a) < removalRank(b)
      : supersedes(placeTerm(a), placeTerm(b));
  return places.reduce<LaterPlace | null>(
    (latest, place) => (latest === null || isPreferred(place, latest) ? place : latest),
    null,
  );
}

export const placeTerm = (place: LaterPlace): StoreTerm => ({
  epoch: place.epoch,
  ...('founder' in place && { founder: place.founder.nodeId }),
});
