// Caches the encoded answers of operations that depend on the store alone, for callers with the same rights and the same URL. The
// answers are strings: the server writes a string together with the headers, but bytes after them.
import type { Authenticated } from '../access/authenticator.ts';
import { SnapshotCache } from '../store/snapshot-cache.ts';
import type { Reply } from './operation.ts';

const entriesMax = 5_000;
const bytesMax = 32 * 1024 * 1024;

/** What determines an answer within a snapshot. */
export interface CacheKey extends Authenticated {
  /** Part of paging links. */
  readonly host: string;
  /** As received. */
  readonly url: string;
}

export class AnswerCache {
  private readonly cache = new SnapshotCache<string>({
    entriesMax,
    bytesMax,
    bytesOf: ({ length }) => 2 * length,
  });

  find(key: CacheKey): string | undefined {
    return this.cache.find(key.snapshot, textOf(key));
  }

  of(key: CacheKey, answer: () => Promise<Reply>): Promise<string> {
    return this.cache.of(key.snapshot, textOf(key), async () => JSON.stringify((await answer()).body));
  }
}

/** None of these contains a newline. */
const textOf = ({ caller, host, url }: CacheKey): string => `${caller.view}\n${host}\n${url}`;
