// One parameter on the settings page. The page is generated from these declarations; a test compares them with
// the parameters that the handlers read.

/** Features that this version does not have: their parameters are validated, stored and shown, without an effect. */
export const missingFeatures = {
  views: 'views',
  reprovision: 'automatic reprovisioning',
  addressFamily: 'a change of the IP family of a running node',
  compactingRebalance: 'compaction between the moves of a rebalance',
  reservedConnections: 'a reserve of connections for other nodes',
  spreadIndexes: 'indexes that are distributed over nodes',
  index: 'tuning of the index service',
  search: 'the search service',
  analytics: 'the analytics service',
  eventing: 'the eventing service',
} as const;

/** `fixed`: only the actual value is accepted. `kept`: stored, without an effect. */
export type Effect = 'effective' | 'fixed' | 'kept' | keyof typeof missingFeatures;

/**
 * When a change takes effect: at once (`live`), after a restart of the bucket that the node makes itself, or at the bucket's next start. The
 * last two cannot be changed later: they are given when the bucket is created, and before the node is provisioned.
 */
export type Change = 'live' | 'bucket restart' | 'bucket start' | 'creation only' | 'before provisioning';

export interface Setting {
  readonly name: string;
  readonly default: string;
  readonly range: string;
  readonly change: Change;
  readonly effect: Effect;
  readonly note?: string;
}

export interface SettingGroup {
  readonly title: string;
  /** Ids of the routes whose forms contain these parameters. */
  readonly routes: readonly string[];
  readonly settings: readonly Setting[];
}

/** A row of a group, in the order of the page's columns. */
export function setting(
  name: string,
  fallback: string,
  range: string,
  change: Change,
  effect: Effect,
  note?: string,
): Setting {
  return { name, default: fallback, range, change, effect, ...(note !== undefined && { note }) };
}
