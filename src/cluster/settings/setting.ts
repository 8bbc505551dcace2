// What the settings page says of one parameter. The page is generated from these declarations; a test holds them against
// what the handlers really read.

/** What this version lacks, so that a parameter is judged, kept and shown, and nothing more. */
export const lacking = {
  views: 'views',
  replicas: 'more than one node',
  replication: 'replication between clusters',
  index: 'tuning of the index service',
  search: 'the search service',
  analytics: 'the analytics service',
  eventing: 'the eventing service',
  query: 'the query service',
  backup: 'the backup service',
} as const;

/** `fixed`: only the value that is so anyway is accepted, anything else is refused. `kept`: nobody will ever go by it. */
export type Effect = 'acts' | 'fixed' | 'kept' | keyof typeof lacking;

/**
 * When a change shows: at once, when the bucket has restarted by itself, when a bucket starts the next time, or never
 * because it is chosen at creation.
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
  /** Ids of the routes whose forms carry these parameters. */
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
