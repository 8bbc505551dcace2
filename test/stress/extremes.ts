// A node beyond its intended limits: 20 times more data than memory, a million tombstones, 1,200 collections under load, a kill by the
// system for lack of memory, a file system that becomes read-only, an older copy of the whole data folder. Each part prints what it
// did and the longest turns of the event loops meanwhile. `node test/stress/extremes.ts [part]`; DIVAN_SEED repeats a run.
import { randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';
import { moreThanMemory, tombstones } from './extreme-data.ts';
import { collections, olderCopy, outOfMemory, readOnly, resident } from './extreme-nodes.ts';

const random = randomFrom(printedSeed(console.log));
const quotaBytes = 100 * 2 ** 20;
const documents = { quotaBytes, count: 1_000_000, valueBytes: 2_100 };
const deletions = { quotaBytes, count: 1_000_000, valueBytes: 100 };

const programs: Record<string, () => Promise<string>> = {
  'data fullEviction': () => moreThanMemory({ policy: 'fullEviction', ...documents }, random),
  'data valueOnly': () =>
    moreThanMemory({ policy: 'valueOnly', ...documents, count: 700_000, valueBytes: 3_000 }, random),
  'tombstones fullEviction': () => tombstones({ policy: 'fullEviction', ...deletions }, random),
  'tombstones valueOnly': () => tombstones({ policy: 'valueOnly', ...deletions }, random),
  collections: () => collections(1_200, 200, random),
  resident: () => resident(100, 20),
  memory: () => outOfMemory(100),
  'read-only': () => readOnly(20_000),
  copy: () => olderCopy(20_480),
};

for (const [name, run] of Object.entries(programs)) {
  if (process.argv[2] !== undefined && !name.includes(process.argv[2])) continue;
  console.log(`${name}: ${await run()}`);
}
