// The short form of `test/stress/cluster-faults.ts`: rounds of faults with one cluster.
import { test } from 'node:test';
import { faultRounds } from '../stress/cluster-faults.ts';
import { needs } from '../support/needs.ts';
import { aSeed } from '../support/random.ts';

const skip = needs('namespaces') || needs('mount') || needs('compiler');
const timeout = 900_000;
/** Before the failover of a node, which is a round, too. The stress test has eight. */
const rounds = 1;
/** Three times that of the stress test: operations of clients are most of the processor time. */
const pauseMsMax = 135;
const oneCluster = (): boolean => true;

test('three nodes under faults answer as one register for each document would, and their copies are equal in the end', {
  skip,
  timeout,
}, async (t) => {
  await faultRounds({
    isEnough: oneCluster,
    rounds,
    pauseMsMax,
    random: aSeed(t),
    report: (line) => t.diagnostic(line),
  });
});

test('three nodes under faults with their configuration on three NATS servers do so, too', {
  skip: skip || needs('nats-server'),
  timeout,
}, async (t) => {
  await faultRounds({
    engine: 'nats',
    isEnough: oneCluster,
    rounds,
    pauseMsMax,
    random: aSeed(t),
    report: (line) => t.diagnostic(line),
  });
});
