// What a bucket may reply according to a model of its documents: the states that a document may be in, the statuses that a change may
// get in each of them, and the revision after it. A CAS is text: its two 32-bit words in decimal, `hi/lo`.
import { StoreMode } from '#kv/data/documents.ts';
import { Status } from '#wire/status.ts';
import type { BucketModel, Doc, Place } from './bucket-model.ts';

/** A possible state of a document. */
export interface State {
  kind: 'absent' | 'live' | 'expired' | 'tombstone';
  locked: boolean;
  /** The possible values of the CAS that a change may name, the lock's while there is one: the bucket has one of them. Null: any value. */
  cas: readonly string[] | null;
  /** The CAS of a lock whose time is over. A change with it succeeds as long as the item has not been evicted. */
  endedLockCas?: string;
  rev: { min: number; max: number };
}

/** The wall clock, for expiry, and the monotonic clock, for locks. */
export interface ClockTimes {
  seconds: number;
  nowMs: number;
}

export interface Precondition {
  mode: StoreMode;
  /** Empty: the request has no CAS. */
  cas: string;
  /** A tombstone counts as an existing document. */
  countsTombstone: boolean;
}

export const isExpired = (doc: Doc, seconds: number): boolean =>
  !doc.deleted && doc.expiry !== 0 && doc.expiry <= seconds;

export const isLocked = (doc: Doc, nowMs: number): boolean => doc.lockedUntilMs > nowMs;

/** The CAS that a change may name, and one that it may not: those of the document and of its lock, if there is one. */
export function casPair(doc: Doc | undefined, nowMs: number): { right: string; wrong: string } {
  const hasLock = doc !== undefined && isLocked(doc, nowMs);
  const right = (hasLock ? doc.lockCas : doc?.cas[0]) ?? '1/1';
  const other = hasLock ? doc.cas[0] : doc?.lockCas;
  const [casHi = 0, casLo = 0] = right.split('/').map(Number);
  return { right, wrong: other || `${casHi}/${(casLo ^ 1) >>> 0 || 2}` };
}

export function statesOf(model: BucketModel, place: Place, times: ClockTimes): State[] {
  const absent: State = {
    kind: 'absent',
    locked: false,
    cas: [],
    rev: { min: model.maxDeletedRev[place.vb] as number, max: Infinity },
  };
  const doc = model.get(place);
  if (doc === undefined) return [absent];
  const others = doc.mayBeGone ? [absent] : [];
  const { rev } = doc;
  const locked = isLocked(doc, times.nowMs);
  const cas = locked ? [doc.lockCas] : doc.cas;
  if (doc.deleted) return [{ kind: 'tombstone', locked: false, cas, rev }, ...others];
  const tombstone: State = { kind: 'tombstone', locked: false, cas: null, rev: plusOne(rev) };
  if (isExpired(doc, times.seconds)) return [{ kind: 'expired', locked, cas, rev }, tombstone, ...others];
  const live: State = { kind: 'live', locked, cas, rev };
  if (!locked && doc.lockedUntilMs > 0) live.endedLockCas = doc.lockCas;
  return doc.mayBeGone ? [live, tombstone, absent] : [live];
}

/** The statuses by which a bucket may answer a store that only the document's state and the precondition can prevent. */
export function storeAnswers(state: State, precondition: Precondition): Status[] {
  const exists = precondition.countsTombstone ? state.kind !== 'absent' : state.kind === 'live';
  if (precondition.mode === StoreMode.add) return [exists ? Status.keyExists : Status.success];
  if (exists) return casAnswers(state, precondition.cas);
  const isNewTombstone = precondition.mode === StoreMode.remove && precondition.countsTombstone;
  const mayCreate = isNewTombstone || precondition.mode === StoreMode.set;
  return [mayCreate && precondition.cas === '' ? Status.success : Status.keyNotFound];
}

/** Like `storeAnswers`, for changes that require the document. */
export const changeAnswers = (state: State, cas: string): Status[] =>
  state.kind === 'live' ? casAnswers(state, cas) : [Status.keyNotFound];

export const plusOne = ({ min, max }: { min: number; max: number }): { min: number; max: number } => ({
  min: min + 1,
  max: max + 1,
});

/** The revision after a change that any of these states allows. */
export function revAfter(states: readonly State[]): { min: number; max: number } {
  const revs = states.map(({ rev }) => plusOne(rev));
  return { min: Math.min(...revs.map(({ min }) => min)), max: Math.max(...revs.map(({ max }) => max)) };
}

function casAnswers(state: State, cas: string): Status[] {
  const mismatch = state.locked ? Status.locked : Status.keyExists;
  if (cas === '') return [state.locked ? Status.locked : Status.success];
  if (cas === state.endedLockCas) return [Status.success, mismatch];
  if (state.cas === null) return [Status.success, mismatch];
  if (!state.cas.includes(cas)) return [mismatch];
  return state.cas.length === 1 ? [Status.success] : [Status.success, mismatch];
}
