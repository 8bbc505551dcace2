// The configuration of a node that can move while the node runs: from one founder to another, to NATS servers that nodes run, and back. The
// membership file decides, also after a crash, where it is.
import type { ConfigStore } from '#replog/config-store.ts';
import type { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { configurationPath } from './data-folder.ts';
import type { FolderParts } from './folder-parts.ts';
import { type FounderMembership, MembershipFile } from './membership-file.ts';
import type { NodeOptions } from './node-options.ts';
import { openConfiguration } from './open-configuration.ts';
import type { OpenedNode } from './running-node.ts';

/** The configuration of a node, and the ways in which this node can begin or stop storing it. */
export interface OpenedConfiguration extends Omit<OpenedNode, 'node' | 'identity'> {}

const staysThere = (): Promise<void> =>
  Promise.reject(new Error('this node is no member of a cluster with a founder'));

/** The configuration is on NATS servers that an operator runs. */
export const noFounder = {
  mirror: null,
  switching: null,
  onServers: null,
  takeOver: staysThere,
  handOver: staysThere,
  useServers: staysThere,
  leaveServers: staysThere,
};

/** Where a node's configuration is when the node opens it. The node shows `description` to its operator. */
type FirstConfiguration = { description: string | null } & (
  | { place: 'founder'; store: MirroredConfigStore }
  | { place: 'servers'; store: MirroredConfigStore }
  | { place: 'here'; store: ConfigStore }
);

export function switchableConfiguration(
  { folder, reserve, lock: held, log }: FolderParts,
  options: NodeOptions,
  first: FirstConfiguration,
): OpenedConfiguration {
  const file = new MembershipFile(folder.path);
  const store = new SwitchingConfigStore(first.store, log);
  const openOwn = (): ConfigStore =>
    openConfiguration(folder.path, { diskReserve: reserve, guard: held.place });
  /** Follows the founder that the membership file names. `created`: the node has a mirror, which need not have reached the founder. */
  const followFounder = async (created = (): void => {}): Promise<void> => {
    const { openMemberConfiguration } = await import('./open-member-configuration.ts');
    const next = await openMemberConfiguration(file, options['operator-address'], log, (mirror) => {
      opened.mirror = mirror;
      created();
    });
    if (next === null) throw new Error('the cluster removed this node');
    await store.switchTo(next.mirror);
    Object.assign(opened, { onServers: null, switching: store });
  };
  const opened: OpenedConfiguration = {
    store,
    description: first.description,
    mirror: first.place === 'founder' ? first.store : null,
    onServers: first.place === 'servers' ? { store, mirror: first.store } : null,
    switching: first.place === 'servers' ? null : store,
    async handOver(parameters, epoch) {
      file.follow(parameters, epoch);
      await followFounder();
      file.setOwnStoreAside();
    },
    async useServers(parameters) {
      opened.mirror?.stopSaving();
      file.useServers(parameters);
      const { openNatsConfiguration } = await import('./open-nats-configuration.ts');
      const next = await openNatsConfiguration(folder, parameters.nats, { file, log });
      if (next === null) throw new Error('the cluster removed this node');
      if ('ended' in next) throw new Error('the configuration has moved on to a founder');
      const onServers = { store, mirror: next.store };
      Object.assign(opened, { mirror: null, switching: null, onServers });
      await store.switchTo(next.store);
      file.setOwnStoreAside();
    },
    async leaveServers(record, created) {
      opened.onServers?.mirror.stopSaving();
      record();
      if (!file.isFounder) {
        await followFounder(created);
        return;
      }
      await store.switchTo(openOwn());
      Object.assign(opened, { onServers: null, switching: store });
    },
    async takeOver(content) {
      const { writeConfigFile } = await import('#replog/mirror/config-copy.adapter.ts');
      writeConfigFile(configurationPath(folder.path), content);
      const own = openOwn();
      file.write({ ...(file.founderMembership as FounderMembership), state: 'founder' });
      opened.mirror = null;
      await store.switchTo(own);
    },
  };
  return opened;
}
