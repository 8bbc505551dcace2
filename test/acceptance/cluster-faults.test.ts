// The bounded form of `test/stress/cluster-faults.ts`.
import { test } from 'node:test';
import { faultRounds } from '../stress/cluster-faults.ts';
import { needs } from '../support/needs.ts';
import { aSeed } from '../support/random.ts';

test('three nodes under faults answer as one register per document would, and their copies end equal', {
  skip: needs('namespaces') || needs('mount') || needs('compiler'),
  timeout: 600_000,
}, async (t) => {
  await faultRounds({
    ...{ isEnough: () => true, rounds: 2, random: aSeed(t) },
    report: (line) => t.diagnostic(line),
  });
});
