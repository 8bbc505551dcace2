import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManifest } from '../../../test/support/a-manifest.ts';
import { aSeed, randomJson } from '../../../test/support/random.ts';
import { BackupError } from './backup-error.ts';
import { type BackupManifest, parseManifest } from './manifest.ts';

const parse = (manifest: unknown): BackupManifest => parseManifest(JSON.stringify(manifest), 'manifest.json');

test('a manifest that was written is read with the same content', () => {
  assert.deepEqual(parse(aManifest()), aManifest());
});

test('manifests of other versions, other files and contradictions are refused, and the error names the field', () => {
  const vbucket = (changes: object) => {
    const manifest = structuredClone(aManifest()) as unknown as { buckets: { vbuckets: object[] }[] };
    Object.assign(manifest.buckets[0]?.vbuckets[3] as object, changes);
    return manifest;
  };
  const cases: [unknown, RegExp][] = [
    [{ ...aManifest(), version: 2 }, /has format version 2; this release reads version 1/],
    [{ ...aManifest(), format: 'tar' }, /is not the manifest of a backup/],
    [[], /is not the manifest/],
    [null, /is not the manifest/],
    [{ ...aManifest(), id: '../x' }, /id: must be a text that matches/],
    [{ ...aManifest(), name: '..' }, /name: must be/],
    [{ ...aManifest(), name: 'a\0b' }, /name: must be/],
    [{ ...aManifest(), type: 'incremental' }, /after: only an incremental backup/],
    [{ ...aManifest(), buckets: Array(1001).fill({}) }, /buckets: must be a list of at most 1000 elements/],
    [vbucket({ to: -1 }), /buckets.0.vbuckets.3.to: must be an integer of 0 or more/],
    [vbucket({ to: 1e300 }), /buckets.0.vbuckets.3.to/],
    [
      vbucket({ from: 9, to: 8 }),
      /buckets.b.vbuckets.3: from, to, last, blocks and bytes do not fit together/,
    ],
    [vbucket({ last: 1e12, blocks: 1 }), /vbuckets.3: from, to, .* do not fit together/],
    [vbucket({ blocks: 2 ** 50 }), /vbuckets.3: from, to, .* do not fit together/],
    [vbucket({ uuid: 'x' }), /vbuckets.3.uuid/],
  ];
  const [bucket] = aManifest().buckets;
  const withBuckets = (...buckets: object[]) => ({
    ...aManifest(),
    buckets: buckets.map((changes) => ({ ...bucket, ...changes })),
  });
  const collection = { id: 9, scope: '_default', name: 'c', maxTtl: 0 };
  cases.push(
    [withBuckets({}, { name: 'B' }), /buckets: two have the same name/],
    [withBuckets({ name: 'a\0b' }), /buckets.0.name: must be/],
    [withBuckets({ name: '../b' }), /buckets.0.name: must be/],
    [withBuckets({ name: 'x'.repeat(255) }), /buckets.0.name: must be/],
    [withBuckets({ scopes: ['_default', '_default'] }), /buckets.b: two scopes or collections/],
    [withBuckets({ collections: [collection, { ...collection, id: 10 }] }), /two scopes or collections/],
    [withBuckets({ collections: [collection, { ...collection, name: 'd' }] }), /two scopes or collections/],
  );
  for (const [manifest, expected] of cases)
    assert.throws(
      () => parse(manifest),
      (error: Error) => error instanceof BackupError && expected.test(error.message),
      String(expected),
    );
  assert.throws(() => parseManifest('{"format":', 'm'), /m is not JSON/);
});

test('random values in place of fields are refused or leave a manifest of the same form', (t) => {
  const random = aSeed(t);
  const text = JSON.stringify(aManifest());
  for (let round = 0; round < 500; round++) {
    const manifest = JSON.parse(text) as Record<string, unknown>;
    let at: Record<string, unknown> = manifest;
    for (;;) {
      const names = Object.keys(at);
      const name = names[random(names.length)] as string;
      const inner = at[name];
      if (typeof inner !== 'object' || inner === null || Object.keys(inner).length === 0 || random(4) === 0) {
        at[name] = randomJson(random, 3);
        break;
      }
      at = inner as Record<string, unknown>;
    }
    try {
      assert.ok(parse(manifest).buckets.every(({ vbuckets }) => vbuckets.length === 1024));
    } catch (error) {
      assert.ok(error instanceof BackupError, String(error));
    }
  }
});
