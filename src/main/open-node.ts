// Opens the configuration that a data folder names, and creates the node on it.
import { SecretBox } from '#auth/secret-box.ts';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import { engineKey } from '#cluster/engine/engine-record.ts';
import type { NodeMembership } from '#cluster/joining/join-messages.ts';
import type { FolderLock } from '#ports/folder-lock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { configurationPath, type DataFolder } from './data-folder.ts';
import type { DiskReserveFile } from './disk-reserve-file.ts';
import { type FounderMembership, MembershipFile } from './membership-file.ts';
import { natsSourceOf } from './nats-source.ts';
import { Node } from './node.ts';
import { ownIdentity } from './node-identity.ts';
import type { NodeOptions } from './node-options.ts';
import { refuseOlderProgram } from './older-program.ts';
import { openConfiguration } from './open-configuration.ts';
import type { OwnNatsServer } from './own-nats-server.ts';
import type { OpenedNode } from './running-node.ts';
import { StartError } from './start-error.ts';

export interface FolderParts {
  folder: DataFolder;
  reserve: DiskReserveFile;
  lock: FolderLock;
  /** The NATS server of this node, if it has one. */
  server: Pick<OwnNatsServer, 'start' | 'remove'>;
  log: Log;
}

/** The configuration of a node, and the ways in which this node can begin or stop to store it. */
interface OpenedConfiguration
  extends Pick<
    OpenedNode,
    'store' | 'switching' | 'mirror' | 'takeOver' | 'handOver' | 'useServers' | 'description'
  > {}

/** Completes a recorded join or removal first. Calls `lost` when the data service ends. */
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
  await server.start();
  const own = secretsOf(folder);
  const secrets = (): SecretBox => {
    const { clusterKey } = file;
    return clusterKey === null ? own : new SecretBox(clusterKey, realRandom);
  };
  let configuration = await configurationOf(parts, options);
  if (
    file.isFounder &&
    (await isReplacedByLaterFounder(parts, options, { configuration, secrets: secrets() }, membership))
  )
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
    onLost: (reason) => lost(new Error('the data service ended', { cause: reason })),
  });
  return Object.assign(configuration, { node, identity });
}

/** True: another node has taken the configuration over, and this one is a member of its cluster from now on. */
async function isReplacedByLaterFounder(
  { folder, log }: FolderParts,
  options: NodeOptions,
  { configuration: { store }, secrets }: { configuration: OpenedConfiguration; secrets: SecretBox },
  membership: NodeMembership,
): Promise<boolean> {
  const nodes = (await store.get<ClusterState>(clusterKey))?.value.nodes ?? [];
  if (nodes.length < 2 || folder.nodeId === null || isNatsText(options.engine)) return false;
  const { laterFounder } = await import('./later-founder.ts');
  const parameters = await laterFounder({
    store,
    nodeId: folder.nodeId,
    secrets,
    log,
    clusterKey: membership.clusterKey(),
    localAddress: options['operator-address'],
  });
  if (parameters === null) return false;
  await store[Symbol.asyncDispose]();
  new MembershipFile(folder.path).follow(parameters);
  process.stderr.write(
    `divan: another node of the cluster stores the configuration now; this one was failed over and follows ${parameters.founder.host}:${parameters.founder.port}\n`,
  );
  return true;
}

async function configurationOf(parts: FolderParts, options: NodeOptions): Promise<OpenedConfiguration> {
  const { folder, reserve, lock: held, log } = parts;
  const file = new MembershipFile(folder.path);
  const source = natsSourceOf(options, file);
  if (file.founded !== null && isNatsText(options.engine)) throw new StartError(memberOnNats(folder));
  if (source !== null) {
    if (file.onNats !== null) file.setOwnStoreAside();
    const { openNatsConfiguration } = await import('./open-nats-configuration.ts');
    const opened = await openNatsConfiguration(folder, source, { file, log });
    if (opened !== null) return { ...opened, ...noFounder };
    await completeRemoval(parts);
    if (isNatsText(options.engine)) throw new StartError(removedFromNats(folder));
  } else if (!file.isFounder) {
    file.setOwnStoreAside();
    const { openMemberConfiguration } = await import('./open-member-configuration.ts');
    const opened = await openMemberConfiguration(file, options['operator-address'], log);
    if (opened !== null) return switchableConfiguration(parts, options, opened);
    await completeRemoval(parts);
  }
  const store = openConfiguration(options['data-dir'], { diskReserve: reserve, guard: held.place });
  const moved = file.preparedMove;
  if (moved !== null && (await store.get(engineKey)) !== null) {
    await store[Symbol.asyncDispose]();
    file.useServers(moved);
    return configurationOf(parts, options);
  }
  return switchableConfiguration(parts, options, { mirror: null, own: store, description: null });
}

/** Completes a removal that the membership file has recorded: deletes the data of the node. */
async function completeRemoval({ folder, server, log }: FolderParts): Promise<void> {
  await server.remove();
  new MembershipFile(folder.path).complete();
  log.warn('node.removed');
  process.stderr.write('divan: the cluster removed this node, which starts as a new one\n');
}

const hasNoFounder = (): Promise<void> =>
  Promise.reject(new Error('this node is no member of a cluster with a founder'));

const noFounder = {
  mirror: null,
  switching: null,
  takeOver: hasNoFounder,
  handOver: hasNoFounder,
  useServers: hasNoFounder,
};

/** What a node's configuration is when it opens: a mirror of the founder's, or its own store. */
type FirstConfiguration =
  | { mirror: MirroredConfigStore; description: string }
  | { mirror: null; own: ConfigStore; description: null };

/**
 * A configuration that the node can take over and hand over while it runs. The membership file decides, also after a crash, whether it is
 * the founder.
 */
function switchableConfiguration(
  { folder, reserve, lock: held, log }: FolderParts,
  options: NodeOptions,
  first: FirstConfiguration,
): OpenedConfiguration {
  const file = new MembershipFile(folder.path);
  const store = new SwitchingConfigStore(first.mirror ?? first.own);
  const opened: OpenedConfiguration = {
    store,
    switching: store,
    mirror: first.mirror,
    description: first.description,
    async handOver(parameters, epoch) {
      file.follow(parameters, epoch);
      const { openMemberConfiguration } = await import('./open-member-configuration.ts');
      const next = await openMemberConfiguration(file, options['operator-address'], log);
      if (next === null) throw new Error('the cluster removed this node');
      opened.mirror = next.mirror;
      await store.switchTo(next.mirror);
      file.setOwnStoreAside();
    },
    async useServers(parameters) {
      file.useServers(parameters);
      const { openNatsConfiguration } = await import('./open-nats-configuration.ts');
      const next = await openNatsConfiguration(folder, parameters.nats, { file, log });
      if (next === null) throw new Error('the cluster removed this node');
      Object.assign(opened, { mirror: null, switching: null });
      await store.switchTo(next.store);
      file.setOwnStoreAside();
    },
    async takeOver(content) {
      const { writeConfigFile } = await import('#replog/mirror/config-copy.adapter.ts');
      writeConfigFile(configurationPath(folder.path), content);
      const own = openConfiguration(folder.path, { diskReserve: reserve, guard: held.place });
      file.write({ ...(file.founded as FounderMembership), state: 'founder' });
      opened.mirror = null;
      await store.switchTo(own);
    },
  };
  return opened;
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
