// Notices that a feed no longer delivers the changes of its store: it may have ended, or stopped without an error.
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import type { ConfigLink, RecordFeed } from './config-link.ts';

export interface WatchedFeed {
  /** Resolves with the reason when the feed ends. */
  readonly lost: Promise<string>;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** The revision of the newest change that the feed delivered. */
  revision(): number;
  /**
   * Asks the servers for the revision of their newest change. Null: another founder took the store over. `known`: the revision that the
   * feed had delivered before.
   */
  newest(known: number): Promise<number | null>;
  /** True if the feed must not be followed after this error. */
  mustStop(error: Error): boolean;
}

/** Interval of the checks that the feed is up to date. */
const pollEveryMs = 5_000;

/** Begins a feed within the limit; a feed that begins later is stopped then. */
export async function beginFeed(
  link: Pick<ConfigLink, 'follow'>,
  feed: RecordFeed,
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<{ stop(): void }> {
  const beginning = link.follow(feed);
  try {
    return await within(clock, limitMs, beginning);
  } catch (error) {
    beginning.then(
      (late) => late.stop(),
      () => {}, // it never began
    );
    throw error;
  }
}

/** Asks from time to time for the newest revision. Resolves with the reason why the feed must not be followed any more. */
export async function untilLost(feed: WatchedFeed): Promise<string> {
  let failures = 0;
  /** The feed's revision at the last check, if the store had a newer one then; else -1. */
  let behindAt = -1;
  for (;;) {
    const reason = await poll(feed);
    if (reason !== null) return reason;
    try {
      const newest = await feed.newest(feed.revision());
      failures = 0;
      if (newest === null) return 'another founder took it over';
      const isBehind = newest > feed.revision();
      if (isBehind && behindAt === feed.revision()) return 'its changes do not arrive';
      behindAt = isBehind ? feed.revision() : -1;
    } catch (error) {
      if (feed.mustStop(error as Error) || ++failures > 1) return (error as Error).message;
    }
  }
}

/** The reason when the feed is lost, null after `pollEveryMs`. */
async function poll({ lost, clock, stopping }: WatchedFeed): Promise<string | null> {
  const pollEnd = Promise.withResolvers<null>();
  const timer = clock.after(pollEveryMs, () => pollEnd.resolve(null));
  const stop = (): void => pollEnd.resolve(null);
  stopping.addEventListener('abort', stop, { once: true });
  const reason = await Promise.race([lost, pollEnd.promise]);
  stopping.removeEventListener('abort', stop);
  timer.cancel();
  return stopping.aborted ? 'it is closed' : reason;
}
