// Chooses among the indexes that can serve one keyspace: by estimated costs if the statistics of UPDATE STATISTICS allow it, else by rules.
import type { Expression } from '../tree/expression.ts';
import type { Access, ScanRole } from './access-state.ts';
import { coverage } from './covering.ts';
import { type Estimate, estimateOf } from './estimates.ts';
import type { IndexMatch } from './index-match.ts';
import type { KeyspaceFrom } from './logical.ts';

export interface Candidate {
  readonly match: IndexMatch;
  readonly isCovering: boolean;
  /** Undefined without statistics of the leading key. */
  readonly estimate: Estimate | undefined;
}

export function bestMatch(
  access: Access,
  from: KeyspaceFrom,
  matches: readonly IndexMatch[],
  conjuncts: readonly Expression[],
  role: ScanRole,
): Candidate | undefined {
  const candidates = matches
    .map((match) => candidateOf(access, from, match, conjuncts, role))
    // Without a bounded key a scan returns the whole index, which is worth it only if no document is read.
    .filter(
      ({ match, isCovering }) => match.bounded > 0 || (isCovering && role === 'first' && !match.isArray),
    );
  const compare = candidates.every(({ estimate }) => estimate !== undefined) ? byCost : byRules;
  return candidates.reduce<Candidate | undefined>(
    (best, each) => (best && compare(each, best) <= 0 ? best : each),
    undefined,
  );
}

function candidateOf(
  access: Access,
  from: KeyspaceFrom,
  match: IndexMatch,
  conjuncts: readonly Expression[],
  role: ScanRole,
): Candidate {
  const { planning } = access;
  const isCovering =
    mayCover(access, role) && coverage(access, from.source, match.index, conjuncts) !== undefined;
  const statistics = from.keyspace.keyspace && planning.statisticsOf(from.keyspace.keyspace);
  const estimate = statistics && estimateOf(planning, match, isCovering, statistics);
  return { match, isCovering, estimate };
}

/** Documents to be changed must be read. */
export function mayCover(access: Access, role: ScanRole): boolean {
  return role !== 'mutation' && access.body !== undefined;
}

/** Positive: `a` is better. If the costs are equal, the rules decide. */
function byCost(a: Candidate, b: Candidate): number {
  const difference = (b.estimate?.cost ?? 0) - (a.estimate?.cost ?? 0);
  return difference === 0 ? byRules(a, b) : difference;
}

/**
 * Positive: `a` is better. Prefers an index with a single value for some key, then more leading bounded keys, more keys with single values, a covering index,
 * more bounded keys, a longer condition, fewer keys.
 */
function byRules(a: Candidate, b: Candidate): number {
  const scoresOfB = scoresOf(b);
  const differences = scoresOf(a).map((score, at) => score - (scoresOfB[at] as number));
  return differences.find((difference) => difference !== 0) ?? 0;
}

const scoresOf = ({ match, isCovering }: Candidate): number[] => [
  match.points > 0 ? 1 : 0,
  match.depth,
  match.points,
  isCovering ? 1 : 0,
  match.bounded,
  match.index.condition.length,
  -match.index.keys.length,
];
