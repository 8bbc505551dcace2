// Makes the text of a manifest. Each field is checked as a reader checks it, since a backup that nobody can read must not be completed.
import { type Clock, nextTurn } from '#ports/clock.ts';
import { BackupError } from '../format/backup-error.ts';
import { type BackupManifest, checkBuckets, parseBucket, parseManifest } from '../format/manifest.ts';

/** Above the manifest of 1,000 buckets, which have about 150 kB each for their vbuckets. */
export const manifestBytesMax = 256 << 20;

/** @throws BackupError that names the field, where a reader would refuse it */
export function manifestText(manifest: BackupManifest, path: string): string {
  const steps = manifestSteps(manifest, path);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** As `manifestText`, with other work of the thread between the buckets, each of which takes tens of milliseconds. */
export async function manifestTextInTurns(
  manifest: BackupManifest,
  path: string,
  clock: Pick<Clock, 'soon'>,
): Promise<string> {
  const steps = manifestSteps(manifest, path);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await nextTurn(clock);
  }
}

function* manifestSteps({ buckets, ...rest }: BackupManifest, path: string): Generator<undefined, string> {
  const head = JSON.stringify({ ...rest, buckets: [] });
  const read: BackupManifest['buckets'][number][] = [];
  parseManifest(head, path);
  const parts: string[] = [];
  let bytes = head.length;
  for (const [index, bucket] of buckets.entries()) {
    const part = JSON.stringify(bucket);
    bytes += Buffer.byteLength(part) + 1;
    if (bytes > manifestBytesMax)
      throw new BackupError(`${path} would have more than ${manifestBytesMax} bytes: back up fewer buckets`);
    read.push(parseBucket(part, index, path));
    parts.push(part);
    yield undefined;
  }
  checkBuckets(read, path);
  return `${head.slice(0, -2)}${parts.join(',')}]}\n`;
}
