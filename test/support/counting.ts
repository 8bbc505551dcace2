// Verifiable changes: several nodes increment one counter of a configuration store.
import assert from 'node:assert/strict';
import { UnavailableError } from '#base/unavailable-error.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';

/** Increments the counter `times` times through each store, or until `stop`; counts the acknowledged changes and those of unknown outcome. */
export function counting(stores: readonly ConfigStore[], times = Infinity) {
  const outcome = { done: 0, unknown: 0, refused: 0 };
  let isOver = false;
  const run = async (store: ConfigStore): Promise<void> => {
    for (let i = 0; i < times && !isOver; i++)
      try {
        await update<number>(store, 'count', 0, (value) => value + 1);
        outcome.done++;
      } catch (error) {
        assert.ok(error instanceof UnavailableError, String(error));
        if (error.message.startsWith('The change may be lost')) outcome.unknown++;
        else outcome.refused++;
      }
  };
  const running = Promise.all(stores.map(run));
  return {
    outcome,
    running,
    async stop() {
      isOver = true;
      await running;
      return outcome;
    },
  };
}
