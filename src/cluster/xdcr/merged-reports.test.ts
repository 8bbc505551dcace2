import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplicationReport } from '#xdcr/xdcr.contract.ts';
import { mergedReports } from './merged-reports.ts';

const aReport = (more: Partial<ReplicationReport>): ReplicationReport => ({
  id: 'u/b/b',
  isConnected: false,
  figures: {},
  errors: [],
  ...more,
});
const errorsAt = (...times: number[]) => times.map((timeMs) => ({ timeMs, text: `at ${timeMs}` }));

test('the merged report adds the counts of all nodes and shows the ten newest errors', () => {
  const merged = mergedReports([
    aReport({ figures: { docs_written: 3, changes_left: 1 }, errors: errorsAt(11, 9, 7, 5, 3, 1) }),
    aReport({ figures: { docs_written: 4 }, isConnected: true, errors: errorsAt(12, 10, 8, 6, 4, 2) }),
    aReport({ id: 'u/c/c', figures: { docs_written: 100 } }),
  ]);
  const { figures, errors, isConnected } = merged.get('u/b/b') as ReplicationReport;
  assert.deepEqual(
    [figures, isConnected, errors.map(({ timeMs }) => timeMs)],
    [{ docs_written: 7, changes_left: 1 }, true, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]],
  );
  assert.equal(merged.size, 2);
});
