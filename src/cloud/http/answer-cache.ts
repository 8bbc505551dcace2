// Caches the JSON texts of answers that depend only on the store, by URL and by the rights of the caller. The cache has strings, not
// bytes, because Node writes a string to the socket together with the headers, but bytes separately.
import type { AuthenticatedCaller } from '../access/authenticator.ts';
import { VersionedCache } from '../store/versioned-cache.ts';
import type { Reply } from './operation.ts';

const entriesMax = 5_000;
const bytesMax = 32 * 1024 * 1024;

/** Everything that an answer depends on for one version of the store. */
export interface CacheKey extends AuthenticatedCaller {
  /** The scheme, host and port with which links to other pages of a list begin. */
  readonly origin: string;
  /** As received. */
  readonly url: string;
}

export class AnswerCache {
  private readonly cache = new VersionedCache<string>({
    entriesMax,
    bytesMax,
    bytesOf: ({ length }) => 2 * length,
  });

  find(key: CacheKey): string | undefined {
    return this.cache.find(key.version, textOf(key));
  }

  getOrCompute(key: CacheKey, answer: () => Promise<Reply>): Promise<string> {
    return this.cache.getOrCompute(key.version, textOf(key), async () =>
      JSON.stringify((await answer()).body),
    );
  }
}

/** No part contains a newline, so that different keys have different texts. */
const textOf = ({ caller, origin, url }: CacheKey): string => `${caller.permissionsKey}\n${origin}\n${url}`;
