import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { balanceNodes } from './balance-nodes.ts';
import type { PlanParts } from './plan-parts.ts';

/** Each sleep takes its time at once. */
class PassingClock extends ManualClock {
  override async sleep(delayMs: number): Promise<void> {
    this.advance(delayMs);
  }
}

/** A cluster whose rebalance has the progress that `progress` returns, and goes on until that returns null. */
async function balanced(progress: (minutes: number) => number | null): Promise<void> {
  const clock = new PassingClock();
  const startMs = clock.monotonicMs();
  const now = () => progress((clock.monotonicMs() - startMs) / 60_000);
  const request = async (_: string, path: string): Promise<string> => {
    if (path !== '/pools/default') return JSON.stringify({ status: 'running', node: { progress: now() } });
    const rebalanceStatus = now() === null ? 'none' : 'running';
    return JSON.stringify({ nodes: [], balanced: true, rebalanceStatus });
  };
  const nodes = { rowsOf: async () => [aRow, aRow], founderClient: async () => ({ request }) };
  await balanceNodes(
    { nodes, clock } as unknown as PlanParts,
    aClusterRow({ phase: 'ready' }),
    new AbortController().signal,
  );
}

const aRow = { address: '' };

test('the operation waits for a rebalance while it makes progress, and fails after half an hour without progress', async () => {
  await balanced((minutes) => (minutes < 600 ? Math.floor(minutes / 20) : null));
  await assert.rejects(
    balanced(() => 0.5),
    /the rebalance has made no progress for 30 minutes/,
  );
});
