// Functions of both consoles that need no browser: the scale of charts, sizes, the nodes of a cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf, newGroup, serversInCloud } from '../../../console/src/cloud/pages/cluster-servers.ts';
import { chartScale } from '../../../console/src/kit/chart-scale.ts';
import { size } from '../../../console/src/kit/format.ts';

test('the scale of a chart contains zero and all values, also negative ones', () => {
  const heights = (values: readonly number[]) => values.map(chartScale(values).heightOf);
  assert.deepEqual(heights([0, 5, 10]), [0, 0.5, 1]);
  assert.deepEqual(heights([-5, 0, 5]), [0, 0.5, 1]);
  assert.deepEqual(heights([-4, -2]), [0, 0.5]);
  assert.deepEqual(heights([0, 0]), [0, 0]);
});

test('a negative size has the same unit as the positive size', () => {
  assert.deepEqual([size(3 << 20), size(-3 << 20), size(-20_480)], ['3.0 MiB', '-3.0 MiB', '-20 KiB']);
});

test('a cluster in a cloud asks for its instances, unless the API has no field for those of the provider', () => {
  const one = { size: 1, services: ['data', 'index', 'query'] };
  const aws = { instanceSize: 'm5.xlarge', ebsSizeGib: 50 };
  assert.deepEqual(serversInCloud([newGroup('aws')], 'aws'), [{ ...one, aws }]);
  assert.deepEqual(serversInCloud([newGroup('gcp')], 'gcp'), [one]);
  const place = { provider: 'gcp', region: 'r', CIDR: '10.0.0.0/16' };
  const servers = [{ ...one, compute: '', storage: { type: 'GP3', IOPS: 0, size: 0 } }];
  assert.equal(groupsOf({ servers, place })[0]?.compute, 'n2-standard-4');
});
