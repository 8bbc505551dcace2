import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { OpenPorts } from './open-ports.ts';

/** The number of turns of the microtask queue in which a change of the ports ends. */
const turnsMax = 20;

test('a change that comes when the one before it ends is applied', async () => {
  for (let turns = 0; turns < turnsMax; turns++) {
    let change = (): void => {};
    let isTls = false;
    const followed: boolean[] = [];
    const ports = new OpenPorts({
      listening: {
        isPlainForThisMachineOnly: false,
        get betweenNodes() {
          return { plain: true, tls: isTls };
        },
        onChange(listener) {
          change = listener;
          return { stop: () => {} };
        },
      },
      plain: [],
      dist: { follow: async ({ tls }) => void followed.push(tls) },
      host: '127.0.0.1',
      log: silentLog,
      clock: new ManualClock(),
    });
    const started = ports.start();
    for (let turn = 0; turn < turns; turn++) await null;
    isTls = true;
    change();
    await started;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(followed.at(-1), true, `after ${turns} turns`);
    await ports.stop();
  }
});
