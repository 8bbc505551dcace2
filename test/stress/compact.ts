// Kills a node with SIGKILL while it writes and compacts, repeatedly on one data folder, and checks after each restart that
// every write acknowledged with `persistToMajority` exists. `node test/stress/compact.ts [rounds]`, default 100.
import { randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';
import { killRounds } from './kill.ts';

await killRounds(Number(process.argv[2] ?? 100), randomFrom(printedSeed(console.log)), console.log, true);
process.exit(0);
