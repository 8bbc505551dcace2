// The end of a configuration store whose configuration goes back to one node: the last change of the store names that node. This change is made
// only directly after the newest change that the node has a copy of, so that the copy is complete. Nodes that do not know of the end yet may
// write after it: such writes are no changes of the configuration, and are made again in the next store.
import { UnavailableError } from '#base/unavailable-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import type { NodeAddress } from '../node-address.ts';
import type { ConfigLink, StoreContent, StoredRecord } from './config-link.ts';

export const endKey = 'store/end';

/** The value of the last change. */
export interface StoreEnd {
  /** The node that stores the configuration from then on. */
  readonly founder: NodeAddress;
  /** The revision of the change before the last one. */
  readonly after: number;
}

export interface EndedStore {
  readonly end: StoreEnd;
  /** The whole store right before its last change; null where this node does not know it. */
  readonly content: StoreContent | null;
}

/** Nothing was changed, since the store has ended: the change can be made in the next one. */
export class StoreEndedError extends UnavailableError {
  constructor() {
    super('Nothing was changed: the configuration has just moved to another node.', {
      isUnchanged: true,
    });
  }
}

/** Returns null if the record is not a last change. All nodes ignore a last change that does not directly follow the change that it names. */
export function endIn({ key, json, revision }: StoredRecord): StoreEnd | null {
  if (key !== endKey || json === null) return null;
  const end = JSON.parse(json) as StoreEnd;
  return revision === end.after + 1 ? end : null;
}

/** The end of a store, by the newest record of each key; null: the store has not ended. */
export function endOf(state: ReadonlyMap<string, StoredRecord>): EndedStore | null {
  const last = state.get(endKey);
  const end = last && endIn(last);
  if (!last || !end) return null;
  const records = [...state.values()].filter(({ key }) => key !== endKey);
  // A record of a later revision replaced one that the store had.
  const isWhole = records.every(({ revision }) => revision < last.revision);
  const present = records.filter(({ json }) => json !== null);
  return { end, content: isWhole ? { revision: end.after, records: present } : null };
}

/** The records of a state that a mirror takes, in order. None if the store has ended and its content is not known. */
export function recordsToMirror(
  ended: EndedStore | null,
  state: ReadonlyMap<string, StoredRecord>,
): StoredRecord[] {
  if (ended !== null && ended.content === null) return [];
  const isLast = ({ key }: StoredRecord): boolean => ended !== null && key === endKey;
  const records = [...state.values()].filter((record) => !isLast(record));
  return records.sort((a, b) => a.revision - b.revision);
}

/** What ending a store needs of its mirror. */
export interface EndingStore {
  readonly link: Pick<ConfigLink, 'name' | 'writeLast'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly requestTimeoutMs: number;
  /** The revision of the newest change that the feed delivered. */
  revision(): number;
  isEnded(): boolean;
  until(isTrue: () => boolean, untilMs: number): Promise<boolean>;
}

const confirmTimeoutMs = 10_000;
const pauseMs = 500;

/**
 * Makes the last change. Whatever the servers answer, the feed shows the outcome: the change, or another one at its revision.
 * False: another change came first, and this one can no longer be made.
 * @throws UnavailableError when the outcome is unknown: the change may still be made, as long as no other is.
 */
export async function writeEnd(end: StoreEnd, store: EndingStore): Promise<boolean> {
  const { clock, link, random, requestTimeoutMs } = store;
  const record = { key: endKey, json: JSON.stringify(end), writes: [random.uuid()] };
  const isDecided = (): boolean => store.isEnded() || store.revision() > end.after;
  const untilMs = clock.monotonicMs() + confirmTimeoutMs;
  while (!isDecided()) {
    if (clock.monotonicMs() > untilMs)
      throw new UnavailableError(`${link.name} did not confirm the last change in time.`);
    await within(
      clock,
      requestTimeoutMs,
      (link.writeLast as NonNullable<typeof link.writeLast>)(record, end.after),
    ).catch(
      () => null, // the feed shows whether it was made
    );
    await store.until(isDecided, clock.monotonicMs() + pauseMs);
  }
  return store.isEnded();
}
