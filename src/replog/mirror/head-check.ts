// Checks that a mirror can continue with the store that the servers have now: it is the same store, in the epoch that
// the mirror knows or a later one, and none of its changes was lost.
import { FinalError, type StoreHead, supersedes } from './config-link.ts';
import { OlderStoreError } from './records.ts';

export interface KnownHead {
  /** The store that the mirror follows; null: none yet. */
  readonly followed: StoreHead | null;
  /** The newest revision seen. */
  readonly newest: number;
  /** Another member is about to take the store over. */
  readonly isFenced: boolean;
}

export const takenOverNow = 'another member of the cluster is taking the configuration over';

export const isSuccessor = (head: StoreHead, followed: StoreHead | null): boolean =>
  followed !== null && supersedes(head, followed);

/** @throws Error, FinalError or OlderStoreError with the reason why the mirror cannot continue. */
export function checkHead(head: StoreHead, { followed, newest, isFenced }: KnownHead): void {
  const { identity, revision, epoch = 1 } = head;
  if (followed !== null && identity !== followed.identity)
    throw new FinalError(
      `it is another store than before: it is named ${identity}, and this node used ${followed.identity}`,
    );
  if (isSuccessor(head, followed)) return;
  if (followed !== null && supersedes(followed, head))
    throw new OlderStoreError(
      `another founder took it over in epoch ${followed.epoch}, and this store is of epoch ${epoch}`,
    );
  if (isFenced) throw new Error(takenOverNow);
  if (revision < newest) throw new OlderStoreError(`its newest revision is ${revision}, and was ${newest}`);
}
