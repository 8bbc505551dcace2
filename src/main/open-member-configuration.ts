// Opens the configuration of a node that joined a cluster: a mirror of the founder's. Loaded only for such a node. While the founder cannot
// be reached, the node starts from its copy of the configuration; without one it waits. A node that the cluster removed while it was stopped
// starts as a new one.
import type { ClusterState } from '#cluster/config/cluster-state.ts';
import { clusterKey } from '#cluster/config/cluster-state.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { connectToNode, nodeProtocols } from '#replog/served/node-connect.adapter.ts';
import { NonMemberError, ServedConfigLink } from '#replog/served/served-config-link.ts';
import type { FounderMembership, MembershipFile } from './membership-file.ts';
import { noteCopy, openCopy } from './open-config-copy.ts';
import { StartError } from './start-error.ts';

/** Calls `created` before it connects. Null: the cluster removed this node; the membership file records that. */
export async function openMemberConfiguration(
  file: MembershipFile,
  localAddress: string | undefined,
  log: Log,
  created: (mirror: MirroredConfigStore) => void = () => {},
): Promise<{ mirror: MirroredConfigStore; description: string } | null> {
  let known = file.founderMembership as FounderMembership;
  const address = (): FounderMembership['founder'] => {
    known = file.founderMembership ?? known;
    return known.founder;
  };
  const { credentials } = known;
  const link = new ServedConfigLink('the founder of the cluster', () =>
    connectToNode(address(), credentials, nodeProtocols.store, localAddress),
  );
  const store = new MirroredConfigStore({
    link,
    seen: file.seenHead,
    clock: realClock,
    random: realRandom,
    copy: openCopy(file.copyPath, file.seenHead.load()?.revision ?? null, log),
    log: log.child('configuration'),
  });
  created(store);
  const shown = (): string => `the founder of the cluster at ${address().host}:${address().port}`;
  try {
    await store.start((reason) => process.stderr.write(`divan: waiting for ${shown()}: ${reason}\n`));
    noteCopy(store, file.copyPath, log);
    await followFounder(store, file);
    return { mirror: store, description: `stored by ${shown()}` };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    if (!(error instanceof NonMemberError)) throw error;
    if (error.reason === 'removed') return noteRemoval(file);
    throw new StartError(
      `${shown()}: ${error.message}, although this node was never removed: was an older data folder of the founder restored?`,
      { cause: error },
    );
  }
}

function noteRemoval(file: MembershipFile): null {
  file.write({ state: 'leaving' });
  return null;
}

/** Keeps the founder's address for the next start when it changes. */
async function followFounder(store: ConfigStore, file: MembershipFile): Promise<void> {
  await store.watch(clusterKey, (key, entry) => {
    if (key !== clusterKey || entry === null) return;
    const { nodes, founder: id, revEpoch = 1 } = entry.value as ClusterState;
    const founder = nodes.find(({ uuid }) => uuid === id);
    const membership = file.founderMembership;
    if (founder === undefined || membership?.state !== 'member' || (membership.epoch ?? 1) > revEpoch) return;
    const host = founder.hostname ?? membership.founder.host;
    const port = founder.ports.distTLS;
    const isSame =
      membership.founder.nodeId === id &&
      membership.founder.host === host &&
      membership.founder.port === port;
    if (!isSame)
      file.write({ ...membership, epoch: revEpoch, founder: { nodeId: founder.uuid, host, port } });
  });
}
