import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecretBox } from '#auth/secret-box.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { clusterKey } from '../config/cluster-state.ts';
import { NodeCertificates } from './node-certificates.ts';

test('certificates of nodes that left long ago are removed when others are added', async () => {
  const store = new MemoryConfigStore();
  await store.put(clusterKey, aCluster({ nodes: ['a', 'b'].map((id) => nodeNamed(id)) }), 0);
  const keyed = { certificate: 'certificate', key: 'key' };
  const certificates = new NodeCertificates({
    store,
    secrets: new SecretBox(Buffer.alloc(32, 1), realRandom),
    identity: { nodeId: 'a', bootId: '' },
    issue: async () => ({ authority: keyed, node: keyed, rsa: null }),
    random: realRandom,
  });
  await certificates.prepare();
  await certificates.issueFor('b');
  for (let n = 0; n < 100; n++) await certificates.issueFor(`added ${n}`);
  const { nodes } = (await store.get<{ nodes: object }>('nodeCertificates'))?.value ?? assert.fail('none');
  const ids = Object.keys(nodes);
  assert.ok(ids.length < 50, `${ids.length} certificates`);
  // Nodes that are being added get their certificates before they are members.
  for (const id of ['a', 'b', 'added 99', 'added 90']) assert.ok(ids.includes(id), id);
});
