// Answers of operations that the store alone decides, ready to be sent, to whoever sees the same and asks the same. They are text:
// the server writes that together with the headers, bytes by themselves.
import type { Authenticated } from '../access/authenticator.ts';
import { SnapshotCache } from '../store/snapshot-cache.ts';
import type { Reply } from './operation.ts';

const entriesMax = 5_000;
const bytesMax = 32 * 1024 * 1024;

/** What decides an answer within a snapshot. */
export interface Question extends Authenticated {
  /** It is in the links to other pages. */
  readonly host: string;
  /** As it was sent. */
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

/** None of these holds a line's end. */
const keyOf = ({ caller, host, url }: Question): string => `${caller.view}\n${host}\n${url}`;
