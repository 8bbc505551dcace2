// The parts of a collection manifest that the engine uses.
import type { Manifest } from '../admin.ts';
import type { CollectionSpec } from '../vbucket/live-collections.ts';
import type { ManifestState } from '../vbucket/manifest-state.ts';

/** The live collections; uids are hex on the wire. */
export const collectionSpecs = (manifest: Manifest): CollectionSpec[] =>
  manifest.scopes.flatMap((scope) =>
    scope.collections.map(({ uid, maxTTL }) => ({ id: Number.parseInt(uid, 16), maxTtl: maxTTL ?? 0 })),
  );

export const manifestUid = (manifest: Manifest): number => Number.parseInt(manifest.uid, 16);

/** The manifest's state as system events describe it. */
export const manifestState = ({ uid, scopes }: Manifest): ManifestState => ({
  uid: Number.parseInt(uid, 16),
  scopes: new Map(scopes.map((scope) => [Number.parseInt(scope.uid, 16), scope.name])),
  collections: new Map(
    scopes.flatMap((scope) =>
      scope.collections.map(({ name, uid: id, maxTTL = 0 }) => [
        Number.parseInt(id, 16),
        { scopeId: Number.parseInt(scope.uid, 16), name, maxTtl: maxTTL },
      ]),
    ),
  ),
});

export const defaultManifest: Manifest = {
  uid: '0',
  scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] }],
};
