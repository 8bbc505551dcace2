// Enforces the query limits of users: a statement counts for each of its callers.
import type { Caller } from '#auth/authority.ts';
import type { UserMeters } from '#auth/user-meters.ts';
import { type SqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';

const codes: Readonly<Record<string, 1191 | 1192 | 1193 | 1194>> = {
  num_concurrent_requests: 1191,
  num_queries_per_min: 1192,
  ingress: 1193,
  egress: 1194,
};

/**
 * Counts the statement. The caller calls the returned function once, with the bytes of the statement's results.
 * @throws SqlError 1191 to 1194 where a limit is reached
 */
export function enterLimits(
  meters: UserMeters,
  callers: readonly Caller[],
  ingressBytes: number,
): (egressBytes: number) => void {
  const entered: string[] = [];
  const leave = (egressBytes: number) => {
    for (const name of entered) meters.leave(name, egressBytes);
  };
  for (const { identity, limits } of callers) {
    if (limits?.query === undefined) continue;
    const [reached] = meters.enter(identity.name, limits.query, ingressBytes);
    if (reached !== undefined) {
      leave(0);
      throw refusalOf(reached);
    }
    entered.push(identity.name);
  }
  return leave;
}

const refusalOf = (reached: string): SqlError => sqlErrorWith(codes[reached] ?? 1191, {});
