// The manifest of a full backup of one empty bucket.
import type { BackupManifest } from '#backup/format/manifest.ts';

export const aManifest = (): BackupManifest => ({
  format: 'divan-backup',
  version: 1,
  id: '0'.repeat(32),
  repository: 'f'.repeat(32),
  name: '2026-01-02T03_04_05.678Z',
  type: 'full',
  after: null,
  startedAt: '2026-01-02T03:04:05.678Z',
  endedAt: '2026-01-02T03:04:06.000Z',
  source: { cluster: 'c', version: '7.1.0-0.3.0-enterprise' },
  buckets: [
    {
      name: 'b',
      uuid: 'a'.repeat(32),
      bytes: 32,
      settings: { bucketType: 'membase', ramQuotaMB: 100 },
      scopes: ['_default'],
      collections: [{ id: 0, scope: '_default', name: '_default', maxTtl: 0 }],
      indexes: [],
      vbuckets: Array.from({ length: 1024 }, () => ({
        uuid: '1',
        history: [['1', 0] as const],
        from: 0,
        to: 0,
        last: 0,
        blocks: 0,
        documents: 0,
        deletions: 0,
      })),
    },
  ],
});
