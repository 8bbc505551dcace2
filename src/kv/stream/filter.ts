// Which documents a stream includes: the whole bucket, one scope, or some collections, as the request's JSON says.

import { EventKind } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { BucketAccess } from '../collections/access.ts';
import type { Collections } from '../collections/collections.ts';
import { isScopeEvent, type SystemEvent } from '../data/system-events.ts';
import { collectionIdOf } from '../vbucket/live-collections.ts';

export type Filter =
  | { kind: 'bucket' }
  /** The client does not use collections. */
  | { kind: 'default' }
  | { kind: 'scope'; scope: number }
  | { kind: 'collections'; ids: ReadonlySet<number> };

/** The parsed value of a stream request. */
export interface StreamValue {
  filter: Filter;
  /** Above 0: distinguishes the streams of one vbucket. */
  streamId: number;
  /** The manifest uid that the client has seen, as a number. */
  manifestUid: number;
  /** The purge seqno that the client has seen; -1 when it names none. */
  purgeSeqno: number;
}

const collectionsMax = 2048;

/** Null when the text is not a valid stream request. */
export function parseStreamValue(text: string): StreamValue | null {
  if (text === '') return { filter: { kind: 'bucket' }, streamId: 0, manifestUid: 0, purgeSeqno: -1 };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return null;
  return fromFields(json as Record<string, unknown>);
}

function fromFields(fields: Record<string, unknown>): StreamValue | null {
  const { uid = '0', scope, collections, sid = 0, purge_seqno = null } = fields;
  if (scope !== undefined && collections !== undefined) return null;
  const filter = filterOf(scope, collections);
  const manifestUid = hexNumber(uid);
  const purgeSeqno = purge_seqno === null ? -1 : decimalNumber(purge_seqno);
  const isStreamId = Number.isInteger(sid) && (sid as number) >= 0 && (sid as number) < 2 ** 16;
  if (filter === null || manifestUid < 0 || !isStreamId || (purge_seqno !== null && purgeSeqno < 0))
    return null;
  return { filter, streamId: sid as number, manifestUid, purgeSeqno };
}

function filterOf(scope: unknown, collections: unknown): Filter | null {
  if (scope !== undefined) {
    const id = hexNumber(scope);
    return id < 0 ? null : { kind: 'scope', scope: id };
  }
  if (collections === undefined) return { kind: 'bucket' };
  if (!Array.isArray(collections) || collections.length === 0 || collections.length > collectionsMax)
    return null;
  const ids = collections.map(hexNumber);
  return ids.some((id) => id < 0) ? null : { kind: 'collections', ids: new Set(ids) };
}

function hexNumber(text: unknown): number {
  if (typeof text !== 'string' || !/^(0x)?[0-9a-f]{1,12}$/i.test(text)) return -1;
  return Number.parseInt(text.replace(/^0x/i, ''), 16);
}

const decimalNumber = (text: unknown): number =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : -1;

/** Whether everything that the filter names exists and the user may read its changes. */
export function checkFilter(filter: Filter, collections: Collections, access: BucketAccess): Status {
  if (filter.kind === 'bucket') return mayStream(access.bucketWide) ? Status.success : Status.noAccess;
  const ids = idsOf(filter, collections);
  if (ids === null) return Status.unknownScope;
  for (const id of ids) {
    const privileges = access.bitsOf(id);
    if (collections.get(id) === undefined || privileges === 0) return Status.unknownCollection;
    if (!mayStream(privileges)) return Status.noAccess;
  }
  return ids.length > 0 ? Status.success : checkEmptyScope(filter, collections, access);
}

/** An empty scope has no collections to check, so access is checked for the scope itself. */
function checkEmptyScope(filter: Filter, collections: Collections, access: BucketAccess): Status {
  const scope =
    filter.kind === 'scope' ? collections.scopes.find(({ id }) => id === filter.scope) : undefined;
  const privileges = scope ? access.ofScope(scope) : 0;
  if (privileges === 0) return Status.unknownScope;
  return mayStream(privileges) ? Status.success : Status.noAccess;
}

const mayStream = (privileges: number): boolean => (privileges & Privilege.dcpStream) !== 0;

/** The ids that the filter matches now; null for a scope that does not exist. */
function idsOf(
  filter: Exclude<Filter, { kind: 'bucket' }>,
  collections: Collections,
): readonly number[] | null {
  if (filter.kind === 'default') return [0];
  if (filter.kind === 'collections') return [...filter.ids];
  const scope = collections.scopes.find(({ id }) => id === filter.scope);
  return scope ? scope.collections.map(({ id }) => id) : null;
}

/** Whether the user may not read something that the filter names. */
export function isBarred(filter: Filter, collections: Collections, access: BucketAccess): boolean {
  if (filter.kind === 'bucket') return !mayStream(access.bucketWide);
  const isClosed = (id: number): boolean =>
    collections.get(id) !== undefined && !mayStream(access.bitsOf(id));
  return (idsOf(filter, collections) ?? []).some(isClosed);
}

/** Whether the filter includes a system event. Clients without collections get none. */
export function passesEvent(filter: Filter, event: SystemEvent): boolean {
  if (filter.kind === 'bucket') return true;
  if (filter.kind === 'scope') return event.scopeId === filter.scope;
  return filter.kind === 'collections' && !isScopeEvent(event.kind) && filter.ids.has(event.collectionId);
}

/** The filter's collections after this event; null when none are left. */
export function without(filter: Filter, event: SystemEvent): Filter | null {
  if (event.kind === EventKind.dropScope && filter.kind === 'scope') {
    return event.scopeId === filter.scope ? null : filter;
  }
  if (event.kind !== EventKind.dropCollection) return filter;
  if (filter.kind === 'default') return event.collectionId === 0 ? null : filter;
  if (filter.kind !== 'collections' || !filter.ids.has(event.collectionId)) return filter;
  const ids = new Set(filter.ids);
  ids.delete(event.collectionId);
  return ids.size === 0 ? null : { kind: 'collections', ids };
}

/** Whether the filter includes a key. Keys of dropped collections are not included; `scopeOf` finds the scopes of those that the manifest lacks yet. */
export function passes(
  filter: Filter,
  collections: Collections,
  key: Buffer,
  start: number,
  scopeOf: (collection: number) => number | undefined,
): boolean {
  const id = collectionIdOf(key, start);
  if (filter.kind === 'default') return id === 0;
  if (filter.kind === 'collections' && !filter.ids.has(id)) return false;
  const scope = collections.get(id)?.scope.id ?? scopeOf(id);
  if (scope === undefined) return false;
  return filter.kind !== 'scope' || scope === filter.scope;
}
