import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupOf } from './v3.servers.ts';

const server = (compute: string) => ({
  size: 1,
  compute,
  services: ['data' as const],
  storage: { type: 'GP3' as const, size: 50 },
});

test('an instance has its memory, and names that are no instance of the provider are refused', () => {
  assert.equal(groupOf(server('m5.xlarge'), 'aws').memoryGib, 16);
  for (const compute of ['Standard_D4s_v3', 'constructor', 'toString', '__proto__'])
    assert.throws(() => groupOf(server(compute), 'aws'), {
      name: 'ApiError',
      message: new RegExp(`^servers\\.compute: "${compute}" is no instance of aws; the instances are m5`),
    });
});
