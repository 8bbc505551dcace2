import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serversRefusal } from './server-rules.ts';

const server = (version: string, cluster?: string) => ({ address: `h-${version}:4222`, version, cluster });

test('a single server may be of any version, and servers of a cluster of 2.12 or later', () => {
  assert.equal(serversRefusal([server('2.9.10')]), null);
  assert.equal(serversRefusal([server('2.12.0', 'c'), server('2.15.2', 'c'), server('3.0.1', 'c')]), null);
  for (const old of ['2.11.99', '2.9.10', '1.4.0', 'strange'])
    assert.match(
      serversRefusal([server('2.15.2', 'c'), server(old, 'c')]) ?? '',
      new RegExp(
        `the NATS server at h-${old}:4222 is of version ${old}; servers of a cluster must be of 2.12`,
      ),
    );
});
