// Random requests by an administrator to every route of a node: every request is answered, never with status 500.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { aManager } from '../../test/support/manager.ts';
import { aSeed, type Random, randomJson } from '../../test/support/random.ts';

/** About five requests to each route. */
const rounds = 1_500;

const names = [
  'name',
  'bucketType',
  'ramQuotaMB',
  'ramQuota',
  'replicaNumber',
  'replicaIndex',
  'threadsNumber',
  'maxTTL',
  'evictionPolicy',
  'durabilityMinLevel',
  'compressionMode',
  'conflictResolutionType',
  'flushEnabled',
  'autoCompactionDefined',
  'parallelDBAndViewCompaction',
  'purgeInterval',
  'allowedTimePeriod[fromHour]',
  'databaseFragmentationThreshold[size]',
  'databaseFragmentationThreshold',
  'otherBucketsRamQuotaMB',
  'clusterName',
  'memoryQuota',
  'indexMemoryQuota',
  'hostname',
  'kv',
  'mgmt',
  'services',
  'sendStats',
  'port',
  'storageMode',
  'numReplica',
  'timeout',
  'afamily',
  'index_path',
  '__proto__',
  'constructor',
  '',
];
const values = [
  '',
  '0',
  '1',
  '-1',
  '8',
  '100',
  '1e3',
  '1.5',
  '9'.repeat(15),
  '9'.repeat(400),
  'true',
  'false',
  'undefined',
  'native',
  'membase',
  'memcached',
  'ephemeral',
  'constructor',
  '__proto__',
  'valueOnly',
  'kv',
  'SAME',
  'b',
  'ü€😀',
  '\u0000',
  ' ',
  '%',
  '../..',
  'a'.repeat(1_000),
  '::1',
  'localhost',
  '[object Object]',
  'lww',
];
const pathValues = [
  'b',
  'absent',
  '_default',
  's',
  '%2F',
  '.',
  'ns_1@cb.local',
  '127.0.0.1%3A8091',
  '0',
  '__proto__',
];

const pick = <T>(random: Random, from: readonly T[]): T => from[random(from.length)] as T;

function randomForm(random: Random): Record<string, string> {
  const fields = Array.from({ length: random(6) }, () => [pick(random, names), pick(random, values)]);
  return Object.fromEntries(fields);
}

it('answers hostile requests to every route without failing', { timeout: 600_000 }, async (t) => {
  const random = aSeed(t);
  const { request, manager, clock } = await aManager();
  // Streams do not end, and the certificate of this node is not a real one.
  const skipped = /stream|certificates/i;
  const routes = manager.routes.map(({ route }) => route).filter(({ id }) => !skipped.test(id));
  assert(routes.length > 50);
  for (let round = 0; round < rounds; round++) {
    if (round % 5 === 0) await request('/pools/default/buckets', { form: { name: 'b', ramQuotaMB: 100 } });
    const route = pick(random, routes);
    const url = route.path.replace(/:\w+/g, () => pick(random, pathValues));
    const query = new URLSearchParams(randomForm(random));
    query.delete('waitChange');
    const sent = {
      method: route.method,
      ...(route.bodyKind === 'json' && { json: randomJson(random, 4) }),
      ...((route.bodyKind === 'form' || route.bodyKind === 'anyForm') && { form: randomForm(random) }),
    };
    const pending = request(`${url}?${query}`, sent);
    // Ends requests that wait for a manifest uid that is never reached.
    const timer = setImmediate(() => setImmediate(() => clock.advance(60_000)));
    const { status, text } = await pending;
    clearImmediate(timer);
    assert.notEqual(
      status,
      500,
      `${route.method} ${url}?${query} ${JSON.stringify(sent)}: ${status} ${text}`,
    );
  }
  assert.equal((await request('/pools/default/buckets')).status, 200);
});
