// The node of this process. When it joins a cluster or leaves one, it is stopped, and started again with the configuration that it then has,
// on the same ports.

import type { NodeIdentity } from '#cluster/config/node-identity.ts';
import type {
  EngineTransfer,
  FounderJoinParameters,
  FounderTransfer,
  JoinParameters,
  MoveToServers,
  NatsJoinParameters,
  NatsSource,
  NodeMembership,
} from '#cluster/joining/join-messages.ts';
import { realClock, type Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { StoreContent } from '#replog/mirror/config-link.ts';
import type { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { withContents } from '#replog/nats/nats-files.adapter.ts';
import { isNatsText, parseServers } from '#replog/nats/nats-servers.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import { NatsServerGroup } from '#replog/own-servers/server-group.adapter.ts';
import type { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { keptPorts } from './kept-ports.ts';
import { MembershipFile } from './membership-file.ts';
import { natsSourceOf } from './nats-source.ts';
import type { Node } from './node.ts';
import type { NodeOptions } from './node-options.ts';
import { ownServers } from './node-options.ts';
import type { OwnNatsServer } from './own-nats-server.ts';

export interface OpenedNode {
  node: Node;
  identity: NodeIdentity;
  /** Where the configuration is; null: in the data folder. */
  description: string | null;
  store: ConfigStore;
  /** Follows the store of the founder. Null on the founder itself, and while the configuration is on NATS servers. */
  mirror: MirroredConfigStore | null;
  /** Stores this configuration in the data folder, and uses it from now on. */
  takeOver(content: StoreContent): Promise<void>;
  /** The store in a cluster with a founder; the founder's makes no changes while it is handed over. Null while the configuration is on NATS servers. */
  switching: SwitchingConfigStore | null;
  /** Follows the founder of these parameters from now on. */
  handOver(parameters: FounderJoinParameters, epoch: number): Promise<void>;
  /** Uses the configuration on these servers from now on. */
  useServers(parameters: NatsJoinParameters): Promise<void>;
  /** The configuration store on servers that nodes run. Null while the configuration is not on such servers. */
  onServers: { readonly store: SwitchingConfigStore; readonly mirror: MirroredConfigStore } | null;
  /**
   * Calls `record`, which stores durably who the founder is (possibly this node), and uses that founder from then on. A member calls
   * `created` when it has its mirror.
   */
  leaveServers(record: () => void, created: () => void): Promise<void>;
}

export interface RunningNodeDeps {
  options: NodeOptions;
  /** Opens the configuration and creates the node on it. */
  open(options: NodeOptions, membership: NodeMembership): Promise<OpenedNode>;
  /** The raw key of the data folder, which is the cluster's on its founder. */
  folderKey(): Uint8Array;
  /** The NATS server that this node may run. */
  server: Pick<OwnNatsServer, 'name' | 'offer' | 'remove' | 'run'>;
  /** The restart of the node failed: nothing serves any more. */
  onLost(reason: Error): void;
  log: Log;
}

/** Time for the answer to the call that made this node join; the listeners then drain. */
const beforeRestartMs = 50;
/** After this time a removed node tries again to record its removal, if its disk refused that. */
const leaveAgainMs = 1_000;

export class RunningNode {
  readonly #deps: RunningNodeDeps;
  readonly #file: MembershipFile;
  readonly #ready = Promise.withResolvers<void>();
  #options: NodeOptions;
  #current: OpenedNode | null = null;
  #restarting: Promise<void> | null = null;
  /** Set while the membership file or the options say more than the node was opened with. */
  #needsRestart = false;
  #isStopped = false;
  #hasHandedOver = false;
  #leaving: Promise<void> | null = null;
  /** Set while this node waits to try again to leave the cluster. */
  #leavingAgain: Timer | null = null;
  /** The membership file names a founder that this node does not use yet. */
  #isBetween = false;

  constructor(deps: RunningNodeDeps) {
    this.#deps = deps;
    this.#options = deps.options;
    this.#file = new MembershipFile(deps.options['data-dir']);
  }

  async open(): Promise<OpenedNode> {
    this.#hasHandedOver = false;
    this.#current = await this.#deps.open(this.#options, this.#membership());
    this.#watchEnd(this.#current);
    return this.#current;
  }

  /** Call when the first start is complete: a restart that was requested before runs now. */
  becameReady(): void {
    this.#ready.resolve();
  }

  /** Resolves when a requested restart is complete. */
  async restarted(): Promise<OpenedNode> {
    await this.#restarting;
    return this.#current as OpenedNode;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#leavingAgain?.cancel();
    await this.#current?.node.stop();
  }

  #membership(): NodeMembership {
    const file = this.#file;
    const source = (): NatsSource | null => natsSourceOf(this.#options, file);
    const founderTransfer = this.#founderTransfer();
    const hasFounder = (): boolean => source() === null && !this.#isBetween;
    return {
      engineProblem: isNatsText(this.#options.engine)
        ? 'The configuration of the node is on NATS servers. Start a node that joins without --engine: it gets the servers from the cluster.'
        : null,
      natsSource() {
        const found = source();
        return found && { ...found, files: withContents(found.files) };
      },
      get isFounder() {
        return hasFounder() && file.isFounder;
      },
      clusterKey: () => file.clusterKey ?? this.#deps.folderKey(),
      founderMoved: (port: number) => {
        const { founderMembership } = file;
        if (founderMembership?.state !== 'member' || founderMembership.founder.port === port) return;
        file.write({ ...founderMembership, founder: { ...founderMembership.founder, port } });
        this.#deps.log.info('node.founder_moved', { port });
      },
      join: (parameters: JoinParameters) => {
        file.write({ ...parameters, state: 'joining' });
        this.#restartSoon();
      },
      leave: () => {
        // The founder itself cannot leave.
        if (source() === null && file.read()?.state !== 'member') return;
        this.#leaveCluster();
      },
      get founderTransfer() {
        return hasFounder() ? founderTransfer : null;
      },
      engineTransfer: this.#engineTransfer(),
    };
  }

  /** Restarts the node as a new one, with its configuration in its data folder. */
  #leaveCluster(isAgain = false): void {
    if (this.#leavingAgain !== null) return;
    try {
      this.#file.write({ state: 'leaving' });
    } catch (error) {
      // The members refuse this node: nothing else would make it leave before its next start.
      if (!isAgain) this.#deps.log.warn('node.not_left', { reason: (error as Error).message });
      this.#leavingAgain = realClock.after(leaveAgainMs, () => {
        this.#leavingAgain = null;
        this.#leaveCluster(true);
      });
      return;
    }
    const engine = this.#options.engine === ownServers ? ownServers : 'embedded';
    this.#options = { ...this.#options, engine };
    this.#restartSoon();
  }

  #engineTransfer(): EngineTransfer {
    const { server } = this.#deps;
    return {
      wantsServers: this.#options.engine !== 'embedded',
      returnToFounder: (own) => this.#returnToFounder(own),
      followFounder: (founder, epoch) =>
        this.#leaveServers(({ recordNewFounder }) => recordNewFounder(this.#file, founder, epoch)),
      offer: (taken) => server.offer(taken),
      runServer: (task) => server.run(task),
      moveToServers: (move) => this.#moveToServers(move),
      useServers: (parameters) => this.#useServers(parameters),
      serverName: () => server.name,
      removeServer: () => server.remove(),
      removed: () => this.#leaveCluster(),
      sourceChanged: (nats) => {
        const { natsMembership } = this.#file;
        if (natsMembership !== null) this.#file.write({ ...natsMembership, nats });
      },
      groupOf: ({ files, servers }) => new NatsServerGroup(parseServers(servers), files),
    };
  }

  /** The last change in the store of this node commits the move: it says that the configuration is on the servers. */
  async #moveToServers({ parameters, record, contentAfter, committed }: MoveToServers): Promise<void> {
    const { switching = null, mirror = null } = this.#current ?? {};
    if (switching === null || mirror !== null) throw new Error('this node does not store the configuration');
    const { moveContent, newStoreOn } = await import('./move-to-servers.ts');
    const target = await newStoreOn(parameters.nats, switching.revision(), this.#deps.log);
    try {
      await moveContent(switching, target, {
        record,
        content: async () => contentAfter(await contentOf(switching)),
        prepare: () => this.#file.prepareMove(parameters),
        use: () => this.#useServers(parameters, committed),
      });
    } finally {
      await target[Symbol.asyncDispose]();
    }
  }

  async #useServers(parameters: NatsJoinParameters, committed = async () => {}): Promise<void> {
    try {
      this.#file.useServers(parameters);
      await committed();
      await this.#current?.useServers(parameters);
      this.#watchEnd(this.#current);
    } catch (error) {
      // Only a restarted node can use the new store. A change in the earlier store would be lost.
      this.#deps.log.error('engine.not_used', { reason: (error as Error).message });
      this.#restartSoon();
      throw error;
    }
  }

  /** The last change on the servers commits the return: it says that this node stores the configuration. */
  async #returnToFounder(own: NodeAddress): Promise<void> {
    const onServers = this.#current?.onServers ?? null;
    if (onServers === null) throw new Error('the configuration is not on servers of the nodes');
    if (isNatsText(this.#options.engine)) throw new Error('this node was started with --engine nats://');
    const { endOnServers } = await import('./return-to-founder.ts');
    await endOnServers(own, { ...onServers, file: this.#file });
    await this.#leaving;
    if (!this.#file.isFounder) throw new Error('another node has just become the founder');
  }

  /** When the store on the servers ends, this node uses the founder that its last change names. */
  #watchEnd(opened: OpenedNode | null): void {
    const folder = { path: this.#options['data-dir'], nodeId: opened?.identity.nodeId ?? null };
    opened?.onServers?.mirror.ended
      .then((ended) => this.#leaveServers(({ recordStoreEnd }) => recordStoreEnd(folder, this.#file, ended)))
      .catch(() => {}); // `#leave` has logged the error
  }

  #leaveServers(record: (functions: typeof import('./return-to-founder.ts')) => void): Promise<void> {
    this.#leaving ??= this.#leave(record).finally(() => {
      this.#leaving = null;
    });
    return this.#leaving;
  }

  async #leave(record: (functions: typeof import('./return-to-founder.ts')) => void): Promise<void> {
    const opened = this.#current;
    if (!opened?.onServers) throw new Error('the configuration is not on servers of the nodes');
    const { store } = opened.onServers;
    store.hold();
    try {
      const functions = await import('./return-to-founder.ts');
      this.#isBetween = true;
      await opened.leaveServers(
        () => record(functions),
        () => {
          this.#isBetween = false;
        },
      );
      store.release();
    } catch (error) {
      this.#deps.log.error('engine.not_left', { reason: (error as Error).message });
      this.#restartSoon();
      throw error;
    } finally {
      this.#isBetween = false;
    }
  }

  #founderTransfer(): FounderTransfer {
    const current = (): OpenedNode | null => this.#current;
    return {
      get mirror() {
        return current()?.mirror ?? null;
      },
      takeOver: (content) => {
        this.#hasHandedOver = false;
        return (this.#current as OpenedNode).takeOver(content);
      },
      follow: (founder, epoch) => {
        const membership = this.#file.founderMembership;
        if (membership?.state !== 'member') return;
        const isKnown = membership.epoch === epoch && sameAddress(membership.founder, founder);
        if (!isKnown) {
          this.#file.write({ ...membership, founder, epoch });
          this.#deps.log.info('founder.follows', { founder: founder.nodeId, epoch });
          // Nothing more is accepted from the previous founder; the connection to it ends.
          this.#current?.mirror?.fence();
        }
        this.#current?.mirror?.retry();
      },
      pause: async () => {
        const { switching = null, mirror = null } = this.#current ?? {};
        if (switching === null || mirror !== null) return null;
        switching.hold();
        return contentOf(switching);
      },
      resume: () => {
        if (!this.#hasHandedOver) this.#current?.switching?.release();
      },
      handOver: async (parameters, epoch) => {
        // The next founder has the content. Even after an error below, this node changes nothing in its own store.
        this.#hasHandedOver = true;
        try {
          await this.#current?.handOver(parameters, epoch);
          this.#current?.switching?.release();
        } catch (error) {
          this.#deps.log.error('founder.not_followed', { reason: (error as Error).message });
          this.#restartSoon();
        }
        this.#deps.log.info('founder.handed_over', { founder: parameters.founder.nodeId });
      },
      stepDown: (parameters) => {
        this.#file.follow(parameters);
        this.#restartSoon();
      },
    };
  }

  #restartSoon(): void {
    this.#needsRestart = true;
    this.#restarting ??= this.#restartWhileNeeded();
  }

  /** A restart may be requested again while the node starts, for example when it is removed from the cluster that it joins. */
  async #restartWhileNeeded(): Promise<void> {
    try {
      await this.#ready.promise;
      while (this.#needsRestart && !this.#isStopped)
        await this.#restart().catch((error: Error) => {
          if (!this.#needsRestart) throw error;
          // The cluster has removed the node, whose start could not end for that reason.
          this.#deps.log.warn('node.start_ended', { reason: error.message });
        });
    } catch (error) {
      // A stop ends the start of the node too, which is no loss.
      if (!this.#isStopped) this.#deps.onLost(error as Error);
    } finally {
      this.#restarting = null;
    }
  }

  async #restart(): Promise<void> {
    await realClock.sleep(beforeRestartMs);
    if (this.#isStopped) return;
    const { node: before } = this.#current as OpenedNode;
    this.#options = { ...this.#options, ...keptPorts(before.ports) };
    await before.stop();
    if (this.#isStopped) return;
    this.#needsRestart = false;
    const { node } = await this.open();
    if (this.#isStopped) {
      await node.stop();
      return;
    }
    await node.start();
    await node.endStart();
    node.startMetrics();
    this.#deps.log.info('node.restarted', { member: MembershipFile.isMember(this.#options['data-dir']) });
  }
}

async function contentOf(store: ConfigStore): Promise<StoreContent> {
  const records = (await store.list('')).map(({ key, value, revision }) => ({
    key,
    json: JSON.stringify(value),
    revision,
    writes: null,
  }));
  return { revision: store.revision(), records };
}

const sameAddress = (a: NodeAddress, b: NodeAddress): boolean =>
  a.nodeId === b.nodeId && a.host === b.host && a.port === b.port;
