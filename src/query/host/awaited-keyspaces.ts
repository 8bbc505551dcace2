// The collections that the first start of a node creates (`--bucket`, `--init`), and the buckets that a node gets when it becomes active in a
// cluster. The query port is open before they exist. A request that arrives before waits for them, because it would otherwise fail with the
// error that its bucket does not exist.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { BucketState } from '../data/keyspaces.ts';

export interface PlannedCollections {
  readonly bucket: string;
  readonly scopes: readonly { readonly name: string; readonly collections: readonly string[] }[];
}

/** After this time requests are answered, whatever exists: the creation of a bucket takes tenths of a second. */
export const awaitedMs = 30_000;

export class AwaitedKeyspaces {
  private readonly clock: Clock;
  private planned: readonly PlannedCollections[];
  private waiting: { readonly made: Deferred<void>; readonly timer: Timer } | null = null;

  constructor(clock: Clock, planned: readonly PlannedCollections[]) {
    this.clock = clock;
    this.planned = planned;
  }

  /** null: nothing is awaited. */
  whenMade(): Promise<void> | null {
    if (this.planned.length === 0) return null;
    this.waiting ??= { made: deferred(), timer: this.clock.after(awaitedMs, () => this.end()) };
    return this.waiting.made.promise;
  }

  /** The node, which has no buckets yet, is about to get these. */
  expect(buckets: readonly string[]): void {
    if (this.planned.length === 0) this.planned = buckets.map((bucket) => ({ bucket, scopes: [] }));
  }

  follow(buckets: readonly BucketState[]): void {
    if (this.planned.every((planned) => exists(planned, buckets))) this.end();
  }

  /** Lets requests run until buckets are expected again. A collection that is dropped later is missing, and no longer awaited. */
  end(): void {
    this.planned = [];
    this.waiting?.timer.cancel();
    this.waiting?.made.resolve();
    this.waiting = null;
  }
}

function exists({ bucket: name, scopes }: PlannedCollections, buckets: readonly BucketState[]): boolean {
  const bucket = buckets.find((each) => each.name === name);
  if (bucket === undefined) return false;
  return scopes.every((planned) => {
    const scope = bucket.scopes.find((each) => each.name === planned.name);
    const names = new Set(scope?.collections.map((collection) => collection.name));
    return scope !== undefined && planned.collections.every((collection) => names.has(collection));
  });
}
