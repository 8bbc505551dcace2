// One vbucket of several backups as one: the newest version of each document, in the order of seqnos.
import type { BucketChain } from '../archive/bucket-chain.ts';
import type { DataWriter } from '../archive/data-file.adapter.ts';
import { documentsForwards } from '../archive/vbucket-blocks.ts';
import { VbucketCapture } from '../capture/vbucket-capture.ts';
import type { FrameBuffer } from '../format/frame.ts';
import type { CapturedVbucket, CountedVbucket } from '../format/manifest.ts';

/** `collections`: the ids of the collections that the last backup has; documents of others are left out, since these were dropped. */
export function mergeVbucket(
  chain: BucketChain,
  vb: number,
  collections: ReadonlySet<number>,
  { writer, frames }: { writer: DataWriter; frames: FrameBuffer },
): CountedVbucket {
  // Seqnos, not documents: a vbucket may be larger than the memory. Each part is read twice instead.
  const kept = new Set<number>();
  for (const { collectionId, seqno } of chain.newest(vb)) if (collections.has(collectionId)) kept.add(seqno);
  const parts = [...chain.parts(vb)].reverse();
  const [oldest, newest] = [parts[0], parts.at(-1)].map((part) => part?.vbucket) as [
    CapturedVbucket,
    CapturedVbucket,
  ];
  const { from } = oldest;
  const capture = new VbucketCapture(vb, { from, target: newest.to }, writer, frames);
  capture.opened(newest.history.map(([uuid, seqno]) => ({ uuid: BigInt(uuid), seqno })));
  for (const { data, vbucket } of parts)
    for (const frame of documentsForwards(data, vb, vbucket))
      if (kept.has(frame.seqno)) capture.document(frame);
  capture.advance(newest.to);
  return capture.finish();
}
