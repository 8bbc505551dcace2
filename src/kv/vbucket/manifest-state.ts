// The scopes and collections that a vbucket's history records, and the events that lead from one such state to another.
import { EventKind } from '#wire/dcp.ts';
import type { SystemEvent } from '../data/system-events.ts';

export interface CollectionState {
  scopeId: number;
  name: string;
  /** In seconds, as in `CollectionSpec`; 0: documents do not expire. */
  maxTtl: number;
}

export interface ManifestState {
  uid: number;
  /** Names by id. */
  scopes: ReadonlyMap<number, string>;
  collections: ReadonlyMap<number, CollectionState>;
}

const defaultName = '_default';

/** The state of an empty history. */
export const initialManifestState: ManifestState = {
  uid: 0,
  scopes: new Map([[0, defaultName]]),
  collections: new Map([[0, { scopeId: 0, name: defaultName, maxTtl: 0 }]]),
};

/**
 * The events that lead from one state to the other, ordered so that each collection exists only while its scope does. Only the last event
 * carries the new manifest's uid: a client that has received only some of the events does not have the new manifest yet.
 */
export function eventsBetween(before: ManifestState, after: ManifestState): SystemEvent[] {
  const events = [
    ...scopeEvents(EventKind.createScope, after.scopes, before.scopes),
    ...collectionEvents(EventKind.dropCollection, before.collections, after.collections),
    ...collectionEvents(EventKind.createCollection, after.collections, before.collections),
    ...modifications(before.collections, after.collections),
    ...scopeEvents(EventKind.dropScope, before.scopes, after.scopes),
  ];
  for (const event of events) event.manifestUid = before.uid;
  const last = events.at(-1);
  if (last) last.manifestUid = after.uid;
  return events;
}

/** The state after these events, which are some or all of what `eventsBetween` returned for `before`, from the first one on. */
export function stateAfter(before: ManifestState, events: readonly SystemEvent[]): ManifestState {
  const [scopes, collections] = [new Map(before.scopes), new Map(before.collections)];
  for (const { kind, scopeId, collectionId, name, maxTtl } of events) {
    if (kind === EventKind.createScope) scopes.set(scopeId, name);
    else if (kind === EventKind.dropScope) scopes.delete(scopeId);
    else if (kind === EventKind.dropCollection) collections.delete(collectionId);
    else collections.set(collectionId, { scopeId, name, maxTtl });
  }
  return { uid: events.at(-1)?.manifestUid ?? before.uid, scopes, collections };
}

function scopeEvents(
  kind: EventKind,
  scopes: ManifestState['scopes'],
  without: ManifestState['scopes'],
): SystemEvent[] {
  return [...scopes]
    .filter(([id]) => !without.has(id))
    .map(([scopeId, name]) => ({ kind, manifestUid: 0, scopeId, collectionId: 0, maxTtl: 0, name }));
}

function collectionEvents(
  kind: EventKind,
  collections: ManifestState['collections'],
  without: ManifestState['collections'],
): SystemEvent[] {
  return [...collections]
    .filter(([id]) => !without.has(id))
    .map(([collectionId, state]) => ({ kind, manifestUid: 0, collectionId, ...state }));
}

function modifications(
  before: ManifestState['collections'],
  after: ManifestState['collections'],
): SystemEvent[] {
  const kind = EventKind.modifyCollection;
  return [...after]
    .filter(([id, { maxTtl }]) => (before.get(id)?.maxTtl ?? maxTtl) !== maxTtl)
    .map(([collectionId, state]) => ({ kind, manifestUid: 0, collectionId, ...state }));
}
