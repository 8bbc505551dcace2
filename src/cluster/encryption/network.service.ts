// The network between nodes: the listeners a node has for others, and which of them its own traffic uses.

import type { Form } from '#contract/route.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { Edition, Family, NodeListener, NodeNetwork } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { networkOf, sameListener, withListener, withoutListener } from '../config/node-network.ts';
import { FormReader } from '../forms/form-reader.ts';
import { Problems } from '../forms/problems.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import type { EncryptionLevel } from '../security/security-state.ts';

export interface NetworkDeps {
  view: ClusterView;
  cluster: ClusterStore;
  edition: Edition;
  /** Address families that the node was started on. */
  families: readonly Family[];
  /** Null while traffic between nodes is not encrypted. */
  encryptionLevel: () => EncryptionLevel | null;
  /** Whether auto-failover is on, which could fail over unreachable nodes during a change. */
  failsOver: () => Promise<boolean>;
}

/** The fields of a form. */
export interface NetworkChange {
  afamily?: Family;
  afamilyOnly?: boolean;
  nodeEncryption?: boolean;
}

const familyNames: Readonly<Record<Family, string>> = { inet: 'ipv4', inet6: 'ipv6' };
const fields = ['afamily', 'afamilyOnly', 'nodeEncryption'];

export class NetworkService {
  readonly #deps: NetworkDeps;

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
  }

  /** Chooses the listener for the node's own traffic, and enables it. */
  async setUp(form: Form, justValidate: boolean): Promise<void> {
    const reader = this.#reader(form);
    const change = this.read(reader);
    if (await this.#deps.failsOver()) {
      reader.problems.add('_', "Can't change network configuration when auto-failover is enabled.");
    }
    reader.refuseIfInvalid();
    if (!justValidate) await this.apply(change);
  }

  /** Validates the network fields of a form. */
  read(reader: FormReader): NetworkChange {
    const change = readChange(reader);
    this.#validate(change, reader.problems);
    return change;
  }

  async apply(change: NetworkChange): Promise<void> {
    if (Object.keys(change).length === 0) return;
    await this.#change((network) => {
      // The stored network may have changed since the form was validated.
      const problems = new Problems();
      this.#validate(change, problems);
      problems.refuseIfInvalid();
      const next = { ...network, ...change };
      return withListener(next, next);
    });
  }

  async enable(form: Form, justValidate: boolean): Promise<void> {
    const reader = this.#reader(form);
    const change = readChange(reader);
    this.#validateHost(change, reader.problems);
    this.#validateEdition(change, reader.problems);
    reader.refuseIfInvalid();
    if (!justValidate) await this.#change((network) => withListener(network, listenerOf(network, change)));
  }

  async disable(form: Form, justValidate: boolean): Promise<void> {
    const reader = this.#reader(form);
    const change = readChange(reader);
    reader.refuseIfInvalid();
    const disabled = (network: NodeNetwork) => {
      const removed = listenerOf(network, change);
      if (!sameListener(network, removed)) return withoutListener(network, removed);
      const listener = `${familyNames[removed.afamily]}, ${removed.nodeEncryption ? 'encrypted' : 'not encrypted'}`;
      throw settingsRefusals.listenerInUse({ listener });
    };
    if (justValidate) disabled(networkOf(this.#deps.view.self));
    else await this.#change(disabled);
  }

  async disableUnused(form: Form, justValidate: boolean): Promise<void> {
    const reader = new FormReader(form);
    reader.only([]);
    reader.refuseIfInvalid();
    if (justValidate) return;
    await this.#change((network) => ({ ...network, listeners: [listenerOf(network, {})] }));
  }

  #reader(form: Form): FormReader {
    const reader = new FormReader(form);
    reader.requireAnyField();
    reader.only(fields);
    return reader;
  }

  #validate(change: NetworkChange, problems: Problems): void {
    const level = this.#deps.encryptionLevel();
    this.#validateHost(change, problems);
    this.#validateEdition(change, problems);
    if (change.nodeEncryption === false && (level === 'all' || level === 'strict')) {
      const reason = `the cluster encryption level has been set to ${level}`;
      problems.add('nodeEncryption', `Can't disable nodeEncryption when ${reason}`);
    }
  }

  #validateEdition({ nodeEncryption, afamily }: NetworkChange, problems: Problems): void {
    if (this.#deps.edition === 'enterprise') return;
    if (nodeEncryption) {
      problems.add('nodeEncryption', 'Node encryption is not supported in community edition');
    }
    if (afamily === 'inet6') problems.add('afamily', 'IPv6 is not supported in community edition');
  }

  /** A running node keeps the addresses it was started on. */
  #validateHost({ afamily, afamilyOnly }: NetworkChange, problems: Problems): void {
    const { families, view } = this.#deps;
    if (afamily && !families.includes(afamily)) {
      const text = `The node was started on an address of another family (--host), so ${familyNames[afamily]} is not available`;
      problems.add('afamily', text);
    }
    if (afamilyOnly && families.length > 1) {
      const family = familyNames[afamily ?? networkOf(view.self).afamily];
      problems.add(
        'afamilyOnly',
        `The node was started on both families; start it on an ${family} address (--host)`,
      );
    }
  }

  async #change(change: (network: NodeNetwork) => NodeNetwork): Promise<void> {
    await this.#deps.cluster.changeSelf((node) => ({ ...node, network: change(networkOf(node)) }));
  }
}

const listenerOf = (network: NodeNetwork, change: NetworkChange): NodeListener => ({
  afamily: change.afamily ?? network.afamily,
  nodeEncryption: change.nodeEncryption ?? network.nodeEncryption,
});

function readChange(reader: FormReader): NetworkChange {
  const family = reader.oneOf('afamily', ['ipv4', 'ipv6']);
  const afamilyOnly = reader.boolean('afamilyOnly');
  const encryption = reader.oneOf('nodeEncryption', ['on', 'off']);
  return {
    ...(family && { afamily: family === 'ipv6' ? 'inet6' : 'inet' }),
    ...(afamilyOnly !== undefined && { afamilyOnly }),
    ...(encryption && { nodeEncryption: encryption === 'on' }),
  };
}
