// A process that appends samples to a store until it is killed: `node metrics-ingest.ts <folder> <startMs>`. Each line says
// how many samples of each series are on disk.
import { FolderStoreFiles } from '#metrics/store/files.adapter.ts';
import { fineBounds } from '#metrics/store/store.ts';
import { Tier } from '#metrics/store/tier.ts';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from './manual-clock.ts';

/** As in metrics-kill.test.ts. */
const [stepMs, seriesCount] = [10_000, 20];

const [folder = '', startText] = process.argv.slice(2);
const startMs = Number(startText);
const clock = new ManualClock(startMs);
const tier = new Tier({ files: new FolderStoreFiles(folder), clock, log: silentLog, bounds: fineBounds });
await tier.open();
for (let step = 0; ; step++) {
  const timeMs = startMs + step * stepMs;
  clock.advance(timeMs - clock.wallMs());
  const samples = Array.from({ length: seriesCount }, (_, index) => ({
    name: 'ops',
    labels: { index: String(index) },
    value: step * index,
  }));
  tier.append(timeMs, samples);
  await tier.written();
  process.stdout.write(`${step + 1}\n`);
}
