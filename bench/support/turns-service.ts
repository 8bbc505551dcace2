// A process with a data service that measures the longest turn of its event loop: a timer is due each millisecond, so the time between two calls of it
// is that of a turn. Other processes prolong only the elapsed time, not the processor time.
import { performance } from 'node:perf_hooks';
import { HeavyThread } from '../../src/kv/heavy/hosts/heavy-thread.ts';
import { realClock } from '../../src/ports/clock.ts';
import { aBucket, aDesired, startService } from '../../test/support/data-service.ts';

export interface TurnsReport {
  /** Processor time of the longest turn since the last report, at most a millisecond too high. */
  longestCpuMs: number;
  /** Elapsed time of the longest turn. */
  longestMs: number;
}

export type TurnsCommand = 'report' | 'stop' | 'flush' | 'drop';

const gigabyte = 1024 * 1024 * 1024;
const shopCollections = Array.from({ length: 1_200 }, (_, at) => ({
  name: `c${at}`,
  uid: (at + 8).toString(16),
}));
/** `dropped`: how many collections of the scope `shop` are dropped, the first ones. */
const manifest = (dropped: number) => ({
  uid: String(3 + dropped),
  scopes: [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    { name: 'shop', uid: '8', collections: shopCollections.slice(dropped) },
  ],
});
/** `b` gets the hostile requests; `m` has many small documents and is flushed, `c` has them in a collection that is dropped. */
const buckets = (change?: TurnsCommand) => [
  aBucket('b', { type: 'ephemeral', quotaBytes: gigabyte, manifest: manifest(0) }),
  aBucket('m', { type: 'ephemeral', quotaBytes: gigabyte, incarnation: change === undefined ? 1 : 2 }),
  aBucket('c', { type: 'ephemeral', quotaBytes: gigabyte, manifest: manifest(change === 'drop' ? 1 : 0) }),
];
/** Made beforehand: making one computes the password verifiers of its users, which a node does in another thread. */
const desired = {
  flush: aDesired({ buckets: buckets('flush') }),
  drop: aDesired({ buckets: buckets('drop') }),
};
const service = await startService(aDesired({ buckets: buckets() }), { heavy: new HeavyThread(realClock) });

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
const longest: TurnsReport = { longestCpuMs: 0, longestMs: 0 };
let last = { cpuMs: cpuMs(), atMs: performance.now() };
const timer = setInterval(() => {
  const now = { cpuMs: cpuMs(), atMs: performance.now() };
  longest.longestCpuMs = Math.max(longest.longestCpuMs, now.cpuMs - last.cpuMs);
  longest.longestMs = Math.max(longest.longestMs, now.atMs - last.atMs);
  last = now;
}, 1);

process.on('message', async (command: TurnsCommand) => {
  if (command === 'stop') {
    clearInterval(timer);
    await service[Symbol.asyncDispose]();
    process.exit();
  }
  if (command === 'report') {
    process.send?.({ ...longest });
    longest.longestCpuMs = longest.longestMs = 0;
    return;
  }
  await service.service.apply(desired[command]);
  process.send?.('done');
});
// The benchmark has failed.
process.on('disconnect', () => process.exit());
process.send?.(service.port);
