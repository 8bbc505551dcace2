// A program for kill tests: opens the bucket in the given folder, prints the file and the round of
// each acknowledged commit, and continues until it is killed. Arguments: folder, `urgent` or `usual` commits, first round of each file.
import { writeSync } from 'node:fs';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { cutsOf } from './cuts.ts';

const [folder = '', kind = '', ...firstRounds] = process.argv.slice(2);
const bucketUuid = 'e'.repeat(32);
const engine = workerDiskEngine();
const { damaged } = await engine.open({ folder, bucketUuid, incarnation: 1, fileCount: 2 });
if (damaged.length > 0) throw new Error(JSON.stringify(damaged));
await Promise.all([commitForever(0), commitForever(1)]);

/** Each round writes 30 of 997 keys, so that most writes replace a document and pages change all over the file. */
async function commitForever(file: number): Promise<void> {
  for (let round = Number(firstRounds[file]); ; round++) {
    const docs = Array.from({ length: 30 }, (_, i) => ({
      vb: file + 2 * (i % 8),
      key: `key ${(round * 7 + i * 13) % 997}`,
      value: `${round} `.repeat(i === 0 ? 2000 : 60),
      seqno: round * 30 + i,
    }));
    await engine.commit(bucketUuid, file, cutsOf(docs), kind === 'urgent');
    writeSync(1, `${file} ${round}\n`);
  }
}
