// Groups of STAT about collections and scopes: all whose statistics the user may read, or one by its name or id.
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { CollectionEntry, ScopeEntry } from '../collections/collections.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import type { Request } from '../dispatch/request.ts';
import { type Figures, forVbuckets } from './stat-figures.ts';

const hex = (id: number): string => `0x${id.toString(16)}`;

/** `collections [scope.collection]`. */
export const statCollections = (request: Request, argument: string): Figures | Status =>
  collectionGroup(request, (entry) => argument === '' || argument === `${entry.scope.name}.${entry.name}`);

/** `collections-byid id`. */
export const statCollectionsById = (request: Request, argument: string): Figures | Status =>
  collectionGroup(request, (entry) => argument === '' || isId(argument, entry.id));

/** `scopes [scope]`. */
export const statScopes = (request: Request, argument: string): Figures | Status =>
  scopeGroup(request, (scope) => argument === '' || argument === scope.name);

/** `scopes-byid id`. */
export const statScopesById = (request: Request, argument: string): Figures | Status =>
  scopeGroup(request, (scope) => argument === '' || isId(argument, scope.id));

/** `collections-details [vb]`: the latest change of each collection in each vbucket. */
export const statCollectionDetails = forVbuckets(function* (vb, documents, request): Figures {
  for (const entry of request.bucket.collections.all()) {
    if (!showsStatistics(request, entry)) continue;
    const prefix = `vb_${vb}:${hex(entry.id)}`;
    yield [`${prefix}:name`, entry.name];
    yield [`${prefix}:scope`, hex(entry.scope.id)];
    yield [`${prefix}:high_seqno`, documents.collectionSeqno(vb, entry.id)];
  }
});

/** `manifest`. */
export const statManifest = ({ bucket }: Request): Figures => [
  ['manifest:uid', `0x${bucket.collections.uid}`],
];

const isId = (argument: string, id: number): boolean => argument === hex(id) || argument === id.toString(16);

function collectionGroup(request: Request, matches: (entry: CollectionEntry) => boolean): Figures | Status {
  const visible = [...request.bucket.collections.all()].filter(
    (entry) => matches(entry) && privilegesIn(request, entry) !== 0,
  );
  if (visible.length === 0) return Status.unknownCollection;
  const shown = visible.filter((entry) => showsStatistics(request, entry));
  if (shown.length === 0) return refuseMissing(request, Privilege.simpleStats);
  return collectionFigures(request, shown);
}

function scopeGroup(request: Request, matches: (scope: ScopeEntry) => boolean): Figures | Status {
  const visible = request.bucket.collections.scopes.filter(
    (scope) => matches(scope) && privilegesInScope(request, scope) !== 0,
  );
  if (visible.length === 0) return Status.unknownScope;
  const shown = visible.filter((scope) => (privilegesInScope(request, scope) & Privilege.simpleStats) !== 0);
  if (shown.length === 0) return refuseMissing(request, Privilege.simpleStats);
  return scopeFigures(request, shown);
}

const privilegesIn = ({ session }: Request, entry: CollectionEntry): number =>
  session.access?.bitsOf(entry.id) ?? 0;

/** Whether the user may read statistics of the collection; one without that privilege may still see that the collection exists. */
const showsStatistics = (request: Request, entry: CollectionEntry): boolean =>
  (privilegesIn(request, entry) & Privilege.simpleStats) !== 0;

/** Privileges of the user in the scope or in one of its collections. */
const privilegesInScope = (request: Request, scope: ScopeEntry): number =>
  scope.collections.reduce(
    (bits, entry) => bits | privilegesIn(request, entry),
    request.session.access?.ofScope(scope) ?? 0,
  );

function* collectionFigures(request: Request, entries: readonly CollectionEntry[]): Figures {
  const { collectionItems } = request.bucket.report();
  yield ['manifest_uid', `0x${request.bucket.collections.uid}`];
  for (const entry of entries) {
    const prefix = `${hex(entry.scope.id)}:${hex(entry.id)}`;
    yield [`${prefix}:name`, entry.name];
    yield [`${prefix}:scope_name`, entry.scope.name];
    yield [`${prefix}:items`, collectionItems[entry.id.toString(16)] ?? 0];
  }
}

function* scopeFigures(request: Request, scopes: readonly ScopeEntry[]): Figures {
  const { collectionItems } = request.bucket.report();
  yield ['manifest_uid', `0x${request.bucket.collections.uid}`];
  for (const scope of scopes) {
    const shown = scope.collections.filter((entry) => showsStatistics(request, entry));
    const items = shown.reduce((sum, entry) => sum + (collectionItems[entry.id.toString(16)] ?? 0), 0);
    yield [`${hex(scope.id)}:name`, scope.name];
    yield [`${hex(scope.id)}:collections`, shown.length];
    yield [`${hex(scope.id)}:items`, items];
  }
}
