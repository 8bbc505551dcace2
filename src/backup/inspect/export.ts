// The documents of a backup as JSON lines: {"bucket","scope","collection","key","value"}; values other than JSON as "base64".

import { vbucketCount } from '#client/document-key.ts';
import { BucketChain } from '../archive/bucket-chain.ts';
import type { Repository } from '../archive/repository.adapter.ts';
import { type Frame, FrameKind } from '../format/frame.ts';
import type { BackupManifest, BucketRecord } from '../format/manifest.ts';
import { bodyOf, isJsonFrame } from './examine.ts';

/** Reads this backup and those that it continues; deletions are left out. */
export function* exportLines(
  repository: Repository,
  chain: readonly BackupManifest[],
  record: BucketRecord,
): Generator<string> {
  using documents = BucketChain.open(repository, chain, record.name);
  const names = new Map(record.collections.map((collection) => [collection.id, collection]));
  for (let vb = 0; vb < vbucketCount; vb++)
    for (const frame of documents.newest(vb)) {
      const collection = names.get(frame.collectionId);
      if (frame.kind !== FrameKind.mutation || collection === undefined) continue;
      const { scope, name } = collection;
      const identity = { bucket: record.name, scope, collection: name, key: frame.key.toString() };
      yield `${JSON.stringify(identity).slice(0, -1)},${valueField(frame)}}\n`;
    }
}

/** The text of the document itself, so that numbers keep their digits; on one line. */
function valueField(frame: Frame): string {
  const body = bodyOf(frame);
  if (isJsonFrame(frame))
    return `"value":${body
      .toString()
      .replace(/[\r\n]/g, ' ')
      .trim()}`;
  return `"base64":${JSON.stringify(body.toString('base64'))}`;
}
