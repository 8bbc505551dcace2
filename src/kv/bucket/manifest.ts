// What the engine takes from a collection manifest.
import type { Manifest } from '../admin.ts';
import type { CollectionSpec } from '../vbucket/collections.ts';

/** The live collections; uids are hex on the wire. */
export const collectionSpecs = (manifest: Manifest): CollectionSpec[] =>
  manifest.scopes.flatMap((scope) =>
    scope.collections.map(({ uid, maxTTL }) => ({ id: Number.parseInt(uid, 16), maxTtl: maxTTL ?? 0 })),
  );

export const manifestUid = (manifest: Manifest): number => Number.parseInt(manifest.uid, 16);

export const defaultManifest: Manifest = {
  uid: '0',
  scopes: [{ name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] }],
};
