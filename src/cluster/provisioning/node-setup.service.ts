// Settings of the node itself: paths, name, alternate addresses, network families.

import type { Form } from '#contract/route.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { Family, NodePaths } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import { alternateHostProblem, alternatePorts } from './alternate-addresses.ts';
import { type Folders, type PathNames, readPaths } from './node-folders.ts';

/** Names and folders, as the operating system knows them. */
export interface HostEnvironment extends Folders {
  /** The reason why this node cannot use the name; null if it can. */
  nameProblem(hostname: string): Promise<string | null>;
  /** Address families of the addresses that the node was started on. */
  readonly families: readonly Family[];
  /** Whether the node was started on a loopback address, by which only its own machine reaches it. */
  readonly listensOnLoopbackOnly: boolean;
  /** True for loopback addresses and `localhost`: other machines cannot reach this node by them. */
  isLoopback(hostname: string): boolean;
  /**
   * True for the only loopback address on which this node listens, by which other nodes on this machine reach it. False for the usual loopback
   * addresses, which the nodes of a machine share.
   */
  isOwnLoopback(hostname: string): boolean;
}

export interface NodeSetupDeps {
  view: ClusterView;
  cluster: ClusterStore;
  environment: HostEnvironment;
  isProvisioned: () => boolean;
}

export class NodeSetupService {
  readonly #deps: NodeSetupDeps;

  constructor(deps: NodeSetupDeps) {
    this.#deps = deps;
  }

  /** Changes the folders, unless there are problems with them: then it returns all problems. */
  async setPaths(form: Form, names: PathNames): Promise<string[]> {
    for (;;) {
      const problems = await this.#trySetPaths(form, names);
      if (problems !== null) return problems;
    }
  }

  /** Null: another request changed the folders, or set the node up, during the checks. */
  async #trySetPaths(form: Form, names: PathNames): Promise<string[] | null> {
    const { view, environment, cluster } = this.#deps;
    const before = view.self.paths;
    const isProvisioned = this.#deps.isProvisioned();
    const problems: string[] = [];
    const wanted = await readPaths({ form, names, before, isProvisioned }, environment, problems);
    const isSame = (paths: NodePaths) => JSON.stringify(paths) === JSON.stringify(before);
    if (problems.length > 0 || isSame(wanted)) return problems;
    let changed = false;
    await cluster.changeSelf((node) => {
      changed = isSame(node.paths) && this.#deps.isProvisioned() === isProvisioned;
      return changed ? { ...node, paths: wanted } : node;
    });
    return changed ? [] : null;
  }

  async rename(hostname: string | undefined): Promise<void> {
    const problem = await this.renameProblem(hostname);
    if (problem !== null) throw nodeRefusals.invalidName({ problem });
    await this.#storeName(hostname as string);
  }

  /** The reason why the node cannot use the name; null if it can. */
  async renameProblem(hostname: string | undefined): Promise<string | null> {
    const { view, environment } = this.#deps;
    if (hostname === undefined || hostname === '') return 'The name cannot be empty';
    if (view.cluster.nodes.length > 1) {
      return 'Renaming is disallowed for nodes that are already part of a cluster';
    }
    return environment.nameProblem(hostname);
  }

  async #storeName(hostname: string): Promise<void> {
    const { environment, cluster } = this.#deps;
    const isUsableByOthers = !environment.isLoopback(hostname) || environment.isOwnLoopback(hostname);
    await cluster.changeSelf((node) => ({
      ...node,
      hostname: isUsableByOthers ? hostname : null,
      otpNode: `ns_1@${hostname}`,
    }));
  }

  async setAlternate(form: Form): Promise<void> {
    const { hostname, ...rest } = form;
    if (hostname === undefined) throw nodeRefusals.noAlternateName();
    const problem = alternateHostProblem(hostname);
    if (problem !== null) throw nodeRefusals.invalidAlternateName({ problem });
    const runs = (port: string) => !this.#deps.isProvisioned() || this.#hasPort(port);
    const ports = alternatePorts(rest, runs);
    await this.#deps.cluster.changeSelf((node) => ({ ...node, alternate: { hostname, ports } }));
  }

  #hasPort(name: string): boolean {
    return Object.hasOwn(this.#deps.view.self.ports, name) && name !== 'distTCP' && name !== 'distTLS';
  }

  async removeAlternate(): Promise<void> {
    await this.#deps.cluster.changeSelf((node) => ({ ...node, alternate: null }));
  }
}
