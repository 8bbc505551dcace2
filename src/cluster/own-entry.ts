// Updates this node's own entry in the configuration at each start. A member whose founder cannot be reached starts with its entry as it is, and
// updates it later.
import { UnavailableError } from '#base/unavailable-error.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { ClusterStore } from './config/cluster.store.ts';
import { type ClusterState, clusterKey, type NodePorts, type NodeState } from './config/cluster-state.ts';
import type { NodeIdentity } from './config/node-identity.ts';
import { limitedToFamilies, networkOf } from './config/node-network.ts';
import { movedPaths } from './config/node-paths.ts';
import { ownVersion } from './config/node-versions.ts';
import { clusterCompatibility } from './config/product.ts';
import type { HostEnvironment } from './provisioning/node-setup.service.ts';

export interface OwnEntryDeps {
  store: ConfigStore;
  identity: NodeIdentity;
  dataFolder: string;
  environment: Pick<HostEnvironment, 'families'>;
  clock: Clock;
  log: Log;
}

const retryPauseMs = 1_000;

export class OwnEntry {
  readonly #deps: OwnEntryDeps;
  readonly #stopping = new AbortController();

  constructor(deps: OwnEntryDeps) {
    this.#deps = deps;
  }

  /** Resolves once the entry is written. If the store is unavailable, resolves at once and writes the entry when the store is available. */
  async start(ports: NodePorts): Promise<void> {
    try {
      await updateOwnEntry(this.#deps, ports);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#deps.log.warn('entry.not_written', { reason: error.message });
      void this.#retry(ports);
    }
  }

  stop(): void {
    this.#stopping.abort(new Error('the node stops'));
  }

  async #retry(ports: NodePorts): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(retryPauseMs, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        return await updateOwnEntry(this.#deps, ports);
      } catch (error) {
        if (!(error instanceof UnavailableError)) log.error('entry.not_written', { reason: String(error) });
      }
    }
  }
}

/** Writes only differences, because every write makes clients fetch a new configuration. */
async function updateOwnEntry(options: OwnEntryDeps, ports: NodePorts): Promise<void> {
  const { store, identity, dataFolder, environment } = options;
  const { nodeId } = identity;
  const network = (node: NodeState) => limitedToFamilies(networkOf(node), environment.families);
  const { nodes } = (await store.get<ClusterState>(clusterKey))?.value ?? { nodes: [] };
  const stored = nodes.find(({ uuid }) => uuid === nodeId);
  const isUpToDate =
    stored?.paths.data === dataFolder &&
    stored.joining !== true &&
    stored.version === ownVersion &&
    stored.compatibility === clusterCompatibility &&
    samePorts(stored.ports, ports) &&
    network(stored) === networkOf(stored);
  if (isUpToDate) return;
  await new ClusterStore(store, nodeId).changeSelf(({ joining: _done, ...node }) => ({
    ...node,
    version: ownVersion,
    compatibility: clusterCompatibility,
    ports,
    paths: movedPaths(node.paths, dataFolder),
    network: network(node),
  }));
}

const samePorts = (a: NodePorts, b: NodePorts): boolean =>
  (Object.keys({ ...a, ...b }) as (keyof NodePorts)[]).every((name) => a[name] === b[name]);
