// Runs heavy work in the data thread, in a later turn of the event loop: for services that run in a test's thread.
import type { Clock } from '#ports/clock.ts';
import type { HeavyPerformer } from './heavy-queue.ts';
import type { HeavyResult } from './jobs.ts';
import { perform } from './perform.ts';

export const inlineHeavy = (clock: Clock): HeavyPerformer => ({
  perform: (job) =>
    new Promise<HeavyResult>((resolve, reject) => {
      clock.soon(() => {
        try {
          resolve(perform(job));
        } catch (error) {
          reject(error as Error);
        }
      });
    }),
  stop: async () => {},
});
