// Caches the encoded answers of operations that depend on the store alone, for callers with the same view and the same URL. They are
// strings, because the server writes a string together with the headers and bytes separately.
import type { Authenticated } from '../access/authenticator.ts';
import { SnapshotCache } from '../store/snapshot-cache.ts';
import type { Reply } from './operation.ts';

const entriesMax = 5_000;
const bytesMax = 32 * 1024 * 1024;

/** What determines an answer within a snapshot. */
export interface Question extends Authenticated {
  /** Part of paging links. */
  readonly host: string;
  /** As received. */
  readonly url: string;
}

export class AnswerCache {
  private readonly kept = new SnapshotCache<string>({
    entriesMax,
    bytesMax,
    bytesOf: ({ length }) => 2 * length,
  });

  find(question: Question): string | undefined {
    return this.kept.find(question.snapshot, keyOf(question));
  }

  of(question: Question, answer: () => Promise<Reply>): Promise<string> {
    return this.kept.of(question.snapshot, keyOf(question), async () =>
      JSON.stringify((await answer()).body),
    );
  }
}

/** None of these contains a newline. */
const keyOf = ({ caller, host, url }: Question): string => `${caller.view}\n${host}\n${url}`;
