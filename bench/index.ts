// Runs a benchmark by name: `npm run bench -- <name>`. Without one, lists them. `smoke` runs each briefly.
import { globSync } from 'node:fs';

const files = globSync('bench/*.bench.ts').sort();
const names = files.map((file) => file.slice('bench/'.length, -'.bench.ts'.length));
const requestedName = process.argv[2];
if (requestedName !== 'smoke' && !names.includes(requestedName ?? '')) {
  console.log(`usage: npm run bench -- <${['smoke', ...names].join('|')}>`);
  process.exit(requestedName === undefined ? 0 : 1);
}
// `peers` contains these benchmarks as groups: `smoke` runs them only there.
const alsoInPeers = ['many', 'mixed'];
for (const name of requestedName === 'smoke'
  ? names.filter((each) => !alsoInPeers.includes(each))
  : [requestedName]) {
  console.log(`# ${name}`);
  const bench = (await import(`./${name}.bench.ts`)) as { run(options: { smoke: boolean }): Promise<void> };
  await bench.run({ smoke: requestedName === 'smoke' });
}
