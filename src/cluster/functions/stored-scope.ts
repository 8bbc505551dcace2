// The scope of a function or a library in the configuration: by ids, so that a scope created again under its name has nothing of the
// old one.
import type { FunctionScope } from '#query/query.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';

/** Undefined: global. */
export type StoredScope = { bucketUuid: string; scopeUid: string } | undefined;

export function storedScope(view: ClusterView, scope: FunctionScope): StoredScope | 'gone' {
  if (scope === null) return undefined;
  const bucket = view.liveBucket(scope.bucket);
  const found = bucket && view.manifest(bucket.uuid).scopes.find(({ name }) => name === scope.scope);
  return bucket && found ? { bucketUuid: bucket.uuid, scopeUid: found.uid } : 'gone';
}

export function shownScope(view: ClusterView, scope: StoredScope): FunctionScope | 'gone' {
  if (scope === undefined) return null;
  const bucket = view.buckets.byUuid[scope.bucketUuid];
  const found = view.manifest(scope.bucketUuid).scopes.find(({ uid }) => uid === scope.scopeUid);
  return bucket?.state === 'ready' && found ? { bucket: bucket.name, scope: found.name } : 'gone';
}

export const isSameScope = (a: StoredScope, b: StoredScope): boolean =>
  a?.bucketUuid === b?.bucketUuid && a?.scopeUid === b?.scopeUid;
