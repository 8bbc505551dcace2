// How many connections may be open that have not logged in.
import type { UnauthenticatedLimits } from '#ports/unauthenticated-sockets.ts';

/** Limit of unauthenticated connections from one address. */
const unauthenticatedPerSource = 1024;
const unauthenticatedMin = 4;

/** Reserves half of the connections for authenticated clients, unless the limit is very small. */
export function unauthenticatedLimits(connectionsMax: number): UnauthenticatedLimits {
  const total = Math.max(Math.floor(connectionsMax / 2), Math.min(connectionsMax, unauthenticatedMin));
  return {
    total,
    perSource: Math.min(unauthenticatedPerSource, Math.max(Math.floor(total / 2), unauthenticatedMin)),
  };
}
