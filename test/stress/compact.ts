// Kills a node with SIGKILL while it writes and compacts, again and again on one data folder, and checks after each restart that
// every write acknowledged with `persistToMajority` is there. `node test/stress/compact.ts [rounds]`, default 100.
import { killRounds } from './kill.ts';

await killRounds(Number(process.argv[2] ?? 100), console.log, true);
process.exit(0);
