import assert from 'node:assert/strict';
import { it } from 'node:test';
import { clusterKey } from '#cluster/config/cluster-state.ts';
import { ownVersion } from '#cluster/config/node-versions.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../test/support/cluster.ts';
import { refuseOlderProgram } from './older-program.ts';

it('refuses a program that is older than the version of its cluster', async () => {
  const start = async (...versions: number[]) => {
    const store = new MemoryConfigStore();
    const nodes = versions.map((version) => nodeNamed(`${version}`, { version }));
    if (versions.length > 0) await store.put(clusterKey, aCluster({ nodes }), 0);
    await refuseOlderProgram(store);
  };
  await start();
  await start(ownVersion);
  await start(ownVersion, ownVersion + 1);
  await assert.rejects(start(ownVersion + 1, ownVersion + 1), {
    message:
      'the configuration has version after 0.3, this program 0.3: start the node with the version that it had',
  });
});
