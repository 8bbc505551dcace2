// The bounded form of `test/stress/cluster-faults.ts`.
import { test } from 'node:test';
import { faultRounds } from '../stress/cluster-faults.ts';
import { needs } from '../support/needs.ts';
import { aSeed } from '../support/random.ts';

const skip = needs('namespaces') || needs('mount') || needs('compiler');
const timeout = 900_000;

test('three nodes under faults answer as one register per document would, and their copies end equal', {
  skip,
  timeout,
}, async (t) => {
  await faultRounds({
    isEnough: () => true,
    rounds: 2,
    random: aSeed(t),
    report: (line) => t.diagnostic(line),
  });
});

test('three nodes under faults, with their configuration on three NATS servers, answer as one register, too', {
  skip: skip || needs('nats-server'),
  timeout,
}, async (t) => {
  await faultRounds({
    engine: 'nats',
    isEnough: () => true,
    rounds: 2,
    random: aSeed(t),
    report: (line) => t.diagnostic(line),
  });
});
