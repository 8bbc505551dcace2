import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '#base/deferred.ts';
import type { Lane } from './lane.ts';
import { LanePool } from './lane-pool.ts';

function aPool({ keepsIdle = true, sizeMax = 1 } = {}) {
  const running = new Set<number>();
  let started = 0;
  const startLane = (): Lane => {
    const number = ++started;
    running.add(number);
    return {
      call: () => Promise.reject(new Error('not called')),
      stop: async () => void running.delete(number),
    };
  };
  const pool = new LanePool(startLane, { keepsIdle });
  pool.resize(sizeMax);
  return { pool, running: () => [...running] };
}

describe('a pool of lanes', () => {
  it('starts another lane only while all others are busy, up to its size', async () => {
    const { pool, running } = aPool({ sizeMax: 2 });
    const first = pool.enter();
    await pool.leave(first);
    assert.equal(pool.enter(), first);
    assert.deepEqual(running(), [1]);
    const second = pool.enter();
    assert.deepEqual(running(), [1, 2]);
    assert.equal(pool.enter(), first);
    assert.equal(pool.enter(), second);
    assert.deepEqual(running(), [1, 2]);
  });

  it('ends the lanes above a smaller size when their calls have ended', async () => {
    const { pool, running } = aPool({ sizeMax: 3 });
    const leases = [pool.enter(), pool.enter(), pool.enter()];
    pool.resize(1);
    assert.deepEqual(running(), [1, 2, 3]);
    for (const lease of leases) await pool.leave(lease);
    assert.deepEqual(running(), [1]);
    pool.enter();
    pool.enter();
    assert.deepEqual(running(), [1]);
  });

  it('ends lanes of a pool without idle lanes when their calls have ended', async () => {
    const { pool, running } = aPool({ keepsIdle: false });
    const [first, second] = [pool.enter(), pool.enter()];
    await pool.leave(first);
    assert.deepEqual(running(), [1]);
    await pool.leave(second);
    assert.deepEqual(running(), []);
  });

  it('uses a lane for as long as a call lasts', async () => {
    const { pool, running } = aPool({ keepsIdle: false });
    const read = deferred<string>();
    const used = pool.use(() => read.promise);
    assert.deepEqual(running(), [1]);
    read.resolve('text');
    assert.equal(await used, 'text');
    await Promise.resolve();
    assert.deepEqual(running(), []);
  });

  it('ends all lanes when it stops', async () => {
    const { pool, running } = aPool({ sizeMax: 2 });
    pool.first();
    pool.enter();
    pool.enter();
    await pool.stop();
    assert.deepEqual(running(), []);
  });
});
