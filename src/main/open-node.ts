// Opens the configuration that a data folder names, and creates the node on it.
import { SecretBox } from '#auth/secret-box.ts';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import { engineKey } from '#cluster/engine/engine-record.ts';
import type { NodeMembership } from '#cluster/joining/join-messages.ts';
import { realRandom } from '#ports/random.ts';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import type { DataFolder } from './data-folder.ts';
import type { FolderParts } from './folder-parts.ts';
import { MembershipFile } from './membership-file.ts';
import { natsSourceOf } from './nats-source.ts';
import { Node } from './node.ts';
import { ownIdentity } from './node-identity.ts';
import type { NodeOptions } from './node-options.ts';
import { refuseOlderProgram } from './older-program.ts';
import { openConfiguration } from './open-configuration.ts';
import type { OpenedNode } from './running-node.ts';
import { StartError } from './start-error.ts';
import { noFounder, type OpenedConfiguration, switchableConfiguration } from './switchable-configuration.ts';

/** Completes a recorded join or removal first. Calls `lost` when the thread of the data service or of the query service ends unexpectedly. */
export async function openNode(
  parts: FolderParts,
  options: NodeOptions,
  membership: NodeMembership,
  lost: (reason: Error) => void,
): Promise<OpenedNode> {
  const { folder, lock: held, log, server } = parts;
  const file = new MembershipFile(folder.path);
  if (file.isChanging) await server.remove();
  file.complete();
  file.finishLeaving();
  await server.start();
  const own = secretsOf(folder);
  const secrets = (): SecretBox => {
    const { clusterKey } = file;
    return clusterKey === null ? own : new SecretBox(clusterKey, realRandom);
  };
  let configuration = await configurationOf(parts, options);
  if (file.isFounder && (await hasMovedOn(parts, options, { configuration, secrets: secrets() }, membership)))
    configuration = await configurationOf(parts, options);
  const { store } = configuration;
  await refuseOlderProgram(store);
  const identity = await ownIdentity(folder, store, realRandom);
  const node = new Node(options, {
    secrets: secrets(),
    store,
    identity,
    log,
    membership,
    lock: held.place,
    onLost: (reason) => lost(new Error('a service of the node ended unexpectedly', { cause: reason })),
  });
  return Object.assign(configuration, { node, identity });
}

/** Whether the configuration of the cluster has moved away from this founder. If so, records the new place in the membership file. */
async function hasMovedOn(
  parts: FolderParts,
  options: NodeOptions,
  { configuration: { store }, secrets }: { configuration: OpenedConfiguration; secrets: SecretBox },
  membership: NodeMembership,
): Promise<boolean> {
  const { folder, log } = parts;
  const nodes = (await store.get<ClusterState>(clusterKey))?.value.nodes ?? [];
  if (nodes.length < 2 || folder.nodeId === null || isNatsText(options.engine)) return false;
  const { laterPlace } = await import('./later-place.ts');
  const found = await laterPlace({
    store,
    nodeId: folder.nodeId,
    secrets,
    log,
    clusterKey: membership.clusterKey(),
    localAddress: options['operator-address'],
  });
  if (found === null) return false;
  await store[Symbol.asyncDispose]();
  const file = new MembershipFile(folder.path);
  if (found === 'removed') {
    file.write({ state: 'leaving' });
    await completeRemoval(parts);
  } else if ('nats' in found) {
    file.useServers(found);
    process.stderr.write(
      'divan: NATS servers of the cluster store the configuration now; this node was failed over and uses them\n',
    );
  } else {
    file.follow(found);
    const { host, port } = found.founder;
    process.stderr.write(
      `divan: another node of the cluster stores the configuration now; this one was failed over and follows ${host}:${port}\n`,
    );
  }
  return true;
}

async function configurationOf(parts: FolderParts, options: NodeOptions): Promise<OpenedConfiguration> {
  const { folder, reserve, lock: held, log } = parts;
  const file = new MembershipFile(folder.path);
  const source = natsSourceOf(options, file);
  if (file.founderMembership !== null && isNatsText(options.engine))
    throw new StartError(memberOnNats(folder));
  if (source !== null) {
    if (file.natsMembership !== null) file.setOwnStoreAside();
    const { openNatsConfiguration } = await import('./open-nats-configuration.ts');
    const opened = await openNatsConfiguration(folder, source, { file, log });
    if (opened !== null && 'ended' in opened) {
      const { recordStoreEnd } = await import('./return-to-founder.ts');
      recordStoreEnd(folder, file, opened.ended);
      return configurationOf(parts, options);
    }
    if (opened !== null)
      return source.own
        ? switchableConfiguration(parts, options, { place: 'servers', ...opened })
        : { ...opened, ...noFounder };
    await completeRemoval(parts);
    if (isNatsText(options.engine)) throw new StartError(removedFromNats(folder));
  } else if (!file.isFounder) {
    file.setOwnStoreAside();
    const { openMemberConfiguration } = await import('./open-member-configuration.ts');
    const opened = await openMemberConfiguration(file, options['operator-address'], log);
    if (opened !== null) {
      const { mirror: store, description } = opened;
      return switchableConfiguration(parts, options, { place: 'founder', store, description });
    }
    await completeRemoval(parts);
  }
  const store = openConfiguration(options['data-dir'], { diskReserve: reserve, guard: held.place });
  const moved = file.preparedMove;
  if (moved !== null && (await store.get(engineKey)) !== null) {
    await store[Symbol.asyncDispose]();
    file.useServers(moved);
    return configurationOf(parts, options);
  }
  return switchableConfiguration(parts, options, { place: 'here', store, description: null });
}

/** Completes a removal that the membership file has recorded: deletes the data of the node. */
async function completeRemoval({ folder, server, log }: FolderParts): Promise<void> {
  await server.remove();
  new MembershipFile(folder.path).complete();
  log.warn('node.removed');
  process.stderr.write('divan: the cluster removed this node, which starts as a new one\n');
}

const removedFromNats = ({ path }: DataFolder): string =>
  `the cluster removed the node of the data folder ${path}, which is empty now: start it without --engine as a new node`;

const memberOnNats = ({ path }: DataFolder): string =>
  `the node of the data folder ${path} is a member of a cluster whose founder stores the configuration: start it without --engine`;

function secretsOf(folder: DataFolder): SecretBox {
  try {
    return folder.secrets();
  } catch (error) {
    const reason = (error as Error).message;
    throw new StartError(`cannot use the secret.key of the data folder ${folder.path}: ${reason}`, {
      cause: error,
    });
  }
}
