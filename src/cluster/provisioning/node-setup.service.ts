// What belongs to the node itself: paths, name, alternate addresses, network families.
import { refuse } from '#contract/errors.ts';
import type { Form } from '#contract/route.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { Family, NodePaths } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { alternateHostProblem, alternatePorts } from './alternate-addresses.ts';

/** The outside world, for names and folders. */
export interface NodeSurroundings {
  /** Why this node cannot go by the name; null when it can. */
  nameProblem(hostname: string): Promise<string | null>;
  /** Makes the folder if need be; false when it cannot be written. */
  usableFolder(path: string): Promise<boolean>;
  /** Address families of the addresses that the node was started on. */
  readonly families: readonly Family[];
  /** True for names that only this machine knows itself by. */
  isLoopback(hostname: string): boolean;
}

export interface NodeSetupDeps {
  view: ClusterView;
  cluster: ClusterStore;
  surroundings: NodeSurroundings;
  provisioned: () => boolean;
}

/** A request's names of the node's folders, in the order of the two calls that set them. There may be several for analytics. */
export interface PathNames {
  data: string;
  index: string;
  analytics: string;
  eventing: string;
  javaHome: string;
}

export class NodeSetupService {
  readonly #deps: NodeSetupDeps;

  constructor(deps: NodeSetupDeps) {
    this.#deps = deps;
  }

  /** Answers all that is wrong with the folders; changes them if nothing is. */
  async setPaths(form: Form, names: PathNames): Promise<string[]> {
    const before = this.#deps.view.self.paths;
    const texts: string[] = [];
    const wanted = wantedPaths(form, names, before, texts);
    if (texts.length === 0) texts.push(...(await this.#pathProblems(before, wanted)));
    if (texts.length === 0 && JSON.stringify(wanted) !== JSON.stringify(before)) {
      await this.#deps.cluster.changeSelf((node) => ({ ...node, paths: wanted }));
    }
    return texts;
  }

  async #pathProblems(before: NodePaths, wanted: NodePaths): Promise<string[]> {
    const { provisioned, surroundings } = this.#deps;
    const folders = ({ data, index, analytics, eventing }: NodePaths) => [
      data,
      index,
      ...analytics,
      eventing,
    ];
    const changed = folders(wanted).filter((path) => !folders(before).includes(path));
    if (changed.length > 0 && provisioned()) {
      return ['Changing paths of nodes that are part of provisioned cluster is not supported'];
    }
    if (wanted.data !== before.data) {
      return [
        `Could not set the storage path. It is fixed while the node runs (${before.data}); start it with another --data-dir.`,
      ];
    }
    for (const path of changed) {
      if (!(await surroundings.usableFolder(path))) {
        return [`Could not set the storage path. It must be a directory writable by this node: ${path}`];
      }
    }
    return [];
  }

  async rename(hostname: string | undefined): Promise<void> {
    const problem = await this.renameProblem(hostname);
    if (problem !== null) throw refuse.list([problem]);
    await this.#takeName(hostname as string);
  }

  /** Why the node cannot go by the name; null when it can. */
  async renameProblem(hostname: string | undefined): Promise<string | null> {
    const { view, surroundings } = this.#deps;
    if (hostname === undefined || hostname === '') return 'The name cannot be empty';
    if (view.cluster.nodes.length > 1) {
      return 'Renaming is disallowed for nodes that are already part of a cluster';
    }
    return surroundings.nameProblem(hostname);
  }

  async #takeName(hostname: string): Promise<void> {
    const { surroundings, cluster } = this.#deps;
    await cluster.changeSelf((node) => ({
      ...node,
      hostname: surroundings.isLoopback(hostname) ? null : hostname,
      otpNode: `ns_1@${hostname}`,
    }));
  }

  async setAlternate(form: Form): Promise<void> {
    const { hostname, ...rest } = form;
    if (hostname === undefined) throw refuse.text('hostname should be specified');
    const problem = alternateHostProblem(hostname);
    if (problem !== null) throw refuse.text(problem);
    const runs = (port: string) => !this.#deps.provisioned() || this.#hasPort(port);
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

const sameFolder =
  'Could not set analytics storage. Different directories should not resolve into the same physical location.';

function wantedPaths(form: Form, names: PathNames, before: NodePaths, texts: string[]): NodePaths {
  const path = (name: string, sent: string) => {
    if (sent === '') texts.push(`${name} cannot contain empty string`);
    else if (!sent.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(sent)) {
      texts.push(`An absolute path is required for ${name}`);
    }
    return sent;
  };
  const folder = (name: string, present: string) =>
    form[name] === undefined ? present : path(name, form[name]);
  const analytics = form[names.analytics]?.split('\n').map((sent) => path(names.analytics, sent));
  if (new Set(analytics).size < (analytics?.length ?? 0)) texts.push(sameFolder);
  return {
    data: folder(names.data, before.data),
    index: folder(names.index, before.index),
    analytics: analytics ?? before.analytics,
    eventing: folder(names.eventing, before.eventing),
    javaHome: form[names.javaHome] ?? before.javaHome,
  };
}
