// Archives without a node: repositories with backups whose documents the test makes up.
import { join } from 'node:path';
import { DataWriter } from '#backup/archive/data-file.adapter.ts';
import { Repository } from '#backup/archive/repository.adapter.ts';
import { VbucketCapture } from '#backup/capture/vbucket-capture.ts';
import { countedBucket } from '#backup/format/collection-counts.ts';
import { FrameBuffer, type FrameContent, FrameKind } from '#backup/format/frame.ts';
import type {
  BackupManifest,
  BucketRecord,
  CapturedVbucket,
  CountedVbucket,
} from '#backup/format/manifest.ts';
import { vbucketCount, vbucketOf } from '#client/document-key.ts';
import { realClock } from '#ports/clock.ts';
import { hexId, realRandom } from '#ports/random.ts';
import { Datatype } from '#wire/status.ts';
import { aManifest } from './a-manifest.ts';

/** `vb`: the vbucket; default: that of the key. */
export type ArchivedDocument = Partial<Omit<FrameContent, 'key'>> & { key: string; vb?: number };

const history = [{ uuid: 1n, seqno: 0 }];

/** Adds a backup of one bucket to the repository; it continues the newest one unless it is full. */
export function addBackup(
  folder: string,
  documents: readonly ArchivedDocument[],
  { isFull = false, startedMs = realClock.wallMs() } = {},
): BackupManifest {
  Repository.prepareFolder(folder);
  const repository = Repository.openOrCreate(folder, realRandom);
  const newest = isFull ? undefined : repository.complete().at(-1);
  const before = newest === undefined ? null : repository.manifest(newest);
  const after = before === null ? null : { name: before.name, id: before.id };
  const named = [{ name: 'b', uuid: aManifest().buckets[0]?.uuid as string }];
  const clock = { ...realClock, wallMs: () => startedMs };
  const partial = repository.begin(clock, hexId(realRandom), { after, buckets: named });
  const writer = DataWriter.create(repository.dataPath(partial, 0), repository.dataOwner(partial, 0));
  const vbuckets = captured(writer, documents, before?.buckets[0]?.vbuckets);
  writer.sync();
  writer.close();
  const { buckets, ...rest } = aManifest();
  const manifest: BackupManifest = {
    ...rest,
    ...partial,
    type: after === null ? 'full' : 'incremental',
    repository: repository.id,
    after,
    buckets: [countedBucket({ ...(buckets[0] as BucketRecord), bytes: writer.bytes }, vbuckets)],
  };
  repository.finish(manifest);
  return manifest;
}

/** Adds an interrupted backup to the repository; returns its folder. */
export function addPartial(folder: string): string {
  const repository = Repository.openOrCreate(folder, realRandom);
  const { name } = repository.begin(realClock, hexId(realRandom), {
    after: null,
    buckets: [{ name: 'b', uuid: 'u' }],
  });
  return join(folder, name);
}

function captured(
  writer: DataWriter,
  documents: readonly ArchivedDocument[],
  previous: readonly CapturedVbucket[] | undefined,
): CountedVbucket[] {
  const frames = new FrameBuffer();
  return Array.from({ length: vbucketCount }, (_, vb) => {
    const from = previous?.[vb]?.to ?? 0;
    const own = documents.filter((document) => (document.vb ?? vbucketOf(document.key)) === vb);
    const capture = new VbucketCapture(vb, { from, target: from + own.length }, writer, frames);
    capture.opened(history);
    for (const [index, { key, vb: _, ...content }] of own.entries())
      capture.document({
        kind: FrameKind.mutation,
        datatype: Datatype.json,
        collectionId: 0,
        casHi: 1,
        casLo: 2,
        rev: 3,
        flags: 0,
        expiry: 0,
        value: Buffer.from(`{"key":${JSON.stringify(key)}}`),
        ...content,
        key: Buffer.from(key),
        seqno: from + index + 1,
      });
    return capture.finish();
  });
}
