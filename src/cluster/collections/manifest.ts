// The rules of scopes and collections: from a manifest and a requested change to the next manifest, or a refusal.

import type { CollectionState, ManifestState, ScopeState } from '../config/cluster-state.ts';
import { collectionRefusals } from '../refusals/collections.refusals.ts';

export const maxTtlMax = 2_147_483_647;
const nameLengthMax = 251;
/** The name of the default scope and collection: a client may not create it, but may keep it when it sends a whole manifest. */
const defaultName = '_default';

export type ScopeLimits = NonNullable<ScopeState['limits']>;

/** For each service, the limits that a scope may have. `fts` is stored for a service that this node does not run. */
export const scopeLimitNames = {
  clusterManager: ['num_collections'],
  fts: ['num_fts_indexes'],
  index: ['num_indexes'],
} as const;

export interface WantedScope {
  name: string;
  /** Null removes the limits; absent keeps them. */
  limits?: ScopeLimits | null;
  collections: { name: string; maxTTL?: number | undefined }[];
}

/** Null if the name is allowed. */
export function nameProblem(name: string): string | null {
  if (name.length < 1 || name.length > nameLengthMax) {
    return `Name length (${name.length}) must be in the range from 1 to ${nameLengthMax}, inclusive`;
  }
  if (!/^[A-Za-z0-9_%-]+$/.test(name)) {
    return 'Can only contain characters A-Z, a-z, 0-9 and the following symbols _ - %';
  }
  return /^[_%]/.test(name) ? 'First character must not be _ or %' : null;
}

/** Adds a scope; of an existing scope replaces the limits. */
export function addScope(
  manifest: ManifestState,
  name: string,
  limits: ScopeLimits | null | undefined,
): ManifestState {
  const before = findScope(manifest, name);
  if (before && limits === undefined) throw collectionRefusals.scopeExists({ scope: name });
  if (before) {
    const next = withScope(manifest, withLimits(before, limits));
    return sameContent(manifest, next) ? manifest : withNextUid(next);
  }
  const scope: ScopeState = withLimits({ name, uid: hex(manifest.nextId), collections: [] }, limits);
  return withNextUid({ ...manifest, nextId: manifest.nextId + 1, scopes: [...manifest.scopes, scope] });
}

export function dropScope(manifest: ManifestState, name: string): ManifestState {
  if (name === defaultName) throw collectionRefusals.defaultScopeStays();
  if (!findScope(manifest, name)) throw collectionRefusals.scopeNotFound({ scope: name });
  return withNextUid({ ...manifest, scopes: manifest.scopes.filter((scope) => scope.name !== name) });
}

export function addCollection(
  manifest: ManifestState,
  scopeName: string,
  wanted: { name: string; maxTTL?: number | undefined },
  limitsEnforced = false,
): ManifestState {
  const scope = findScope(manifest, scopeName);
  if (!scope) throw collectionRefusals.scopeNotFound({ scope: scopeName });
  if (wanted.name === defaultName) {
    throw collectionRefusals.defaultCollectionNotCreated({ scope: scopeName });
  }
  if (findCollection(scope, wanted.name)) {
    throw collectionRefusals.collectionExists({ scope: scopeName, collection: wanted.name });
  }
  const max = limitsEnforced ? scope.limits?.['clusterManager']?.['num_collections'] : undefined;
  if (max !== undefined && scope.collections.length >= max)
    throw collectionRefusals.scopeFull({ scope: scopeName });
  const collection = newCollection(wanted, manifest.nextId);
  const next = withScope(manifest, { ...scope, collections: [...scope.collections, collection] });
  return withNextUid({ ...next, nextId: manifest.nextId + 1 });
}

export function dropCollection(manifest: ManifestState, scopeName: string, name: string): ManifestState {
  const scope = findScope(manifest, scopeName);
  if (!scope) throw collectionRefusals.scopeNotFound({ scope: scopeName });
  if (!findCollection(scope, name))
    throw collectionRefusals.collectionNotFound({ scope: scopeName, collection: name });
  const collections = scope.collections.filter((collection) => collection.name !== name);
  return withNextUid(withScope(manifest, { ...scope, collections }));
}

/** `maxTTL` undefined: unchanged. */
export function changeCollection(
  manifest: ManifestState,
  scopeName: string,
  name: string,
  maxTTL: number | undefined,
): ManifestState {
  const scope = findScope(manifest, scopeName);
  if (!scope) throw collectionRefusals.scopeNotFound({ scope: scopeName });
  const before = findCollection(scope, name);
  if (!before) throw collectionRefusals.collectionNotFound({ scope: scopeName, collection: name });
  const after = withMaxTtl(before, maxTTL);
  if (after === before) return manifest;
  const collections = scope.collections.map((collection) => (collection === before ? after : collection));
  return withNextUid(withScope(manifest, { ...scope, collections }));
}

/** The manifest sent replaces the current one; scopes and collections with the same name in both keep their id. */
export function replaceManifest(manifest: ManifestState, wanted: readonly WantedScope[]): ManifestState {
  refuseRepeated(wanted);
  if (!wanted.some((scope) => scope.name === defaultName)) {
    throw collectionRefusals.defaultScopeStays();
  }
  let nextId = manifest.nextId;
  const scopes = wanted.map((scope) => {
    const before = findScope(manifest, scope.name);
    const uid = before?.uid ?? hex(nextId++);
    const collections = scope.collections.map((collection) => {
      const present = before && findCollection(before, collection.name);
      if (present) return withMaxTtl(present, collection.maxTTL);
      refuseDefaultCollection(scope.name, collection.name);
      return newCollection(collection, nextId++);
    });
    return withLimits({ ...before, name: scope.name, uid, collections }, scope.limits);
  });
  const next = { ...manifest, nextId, scopes };
  return sameContent(manifest, next) ? manifest : withNextUid(next);
}

function refuseDefaultCollection(scope: string, collection: string): void {
  if (collection !== defaultName) return;
  throw collectionRefusals.defaultCollectionNotCreated({ scope });
}

function refuseRepeated(wanted: readonly WantedScope[]): void {
  for (const names of [wanted, ...wanted.map((scope) => scope.collections)]) {
    if (new Set(names.map(({ name }) => name)).size < names.length) {
      throw collectionRefusals.repeatedNames();
    }
  }
}

/** Scopes and collections that count towards the cluster's limit: the default ones do not. */
export function countOf(manifest: ManifestState): { scopes: number; collections: number } {
  const named = <T extends { name: string }>(all: readonly T[]) =>
    all.filter((item) => item.name !== defaultName);
  return {
    scopes: named(manifest.scopes).length,
    collections: manifest.scopes.flatMap((scope) =>
      scope.name === defaultName ? named(scope.collections) : scope.collections,
    ).length,
  };
}

/** Replaces the limits; null removes them, undefined keeps them. */
function withLimits(scope: ScopeState, limits: ScopeLimits | null | undefined): ScopeState {
  if (limits === undefined) return scope;
  const { limits: _before, ...rest } = scope;
  return limits === null ? rest : { ...rest, limits };
}

const hex = (id: number): string => id.toString(16);

const withNextUid = (manifest: ManifestState): ManifestState => ({
  ...manifest,
  uid: (Number.parseInt(manifest.uid, 16) + 1).toString(16),
});

const findScope = (manifest: ManifestState, name: string) =>
  manifest.scopes.find((scope) => scope.name === name);

const findCollection = (scope: ScopeState, name: string) =>
  scope.collections.find((collection) => collection.name === name);

const withScope = (manifest: ManifestState, scope: ScopeState): ManifestState => ({
  ...manifest,
  scopes: manifest.scopes.map((before) => (before.name === scope.name ? scope : before)),
});

const newCollection = (wanted: { name: string; maxTTL?: number | undefined }, id: number): CollectionState =>
  withMaxTtl({ name: wanted.name, uid: hex(id) }, wanted.maxTTL);

/** The same object if nothing changes. Undefined keeps the expiry; 0 means the bucket's, which is expressed by omitting the field. */
function withMaxTtl(collection: CollectionState, maxTTL: number | undefined): CollectionState {
  const { maxTTL: before = 0, ...rest } = collection;
  if (maxTTL === undefined || maxTTL === before) return collection;
  return maxTTL === 0 ? rest : { ...rest, maxTTL };
}

const sameContent = (a: ManifestState, b: ManifestState): boolean =>
  JSON.stringify(a.scopes) === JSON.stringify(b.scopes);
