// Turns a new node into a cluster of one: services, memory, the first administrator.

import type { Form } from '#contract/route.ts';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import { hexId, type Random } from '#ports/random.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NetworkChange, NetworkService } from '../encryption/network.service.ts';
import { FormReader } from '../forms/form-reader.ts';
import { portProblem } from '../forms/port-problem.ts';
import type { Problems } from '../forms/problems.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { IndexSettings } from './index-settings.ts';
import { type MemoryService, poolFields } from './memory.service.ts';
import type { NodeSetupService } from './node-setup.service.ts';
import { readServices } from './service-names.ts';
import type { StatsSettings } from './stats-settings.ts';

/** The one administrator, in the user store. The cluster is provisioned once there is one. */
export interface Administrators {
  /** Null before provisioning. */
  administratorName(): string | null;
  /** Problems of such credentials, by `username` and `password`. */
  administratorProblems(username: string, password: string): Record<string, string>;
  /** `first`: refused if there is one already, also by a concurrent request. */
  setAdministrator(username: string, password: string, which: 'first' | 'any'): Promise<void>;
}

export interface ProvisioningDeps {
  view: ClusterView;
  cluster: ClusterStore;
  administrators: Administrators;
  memory: MemoryService;
  nodeSetup: NodeSetupService;
  network: NetworkService;
  stats: StatsSettings;
  indexes: IndexSettings;
  random: Random;
  startedServices?: readonly string[] | undefined;
}

interface Credentials {
  username: string;
  password: string;
}

const initPaths = {
  data: 'dataPath',
  index: 'indexPath',
  analytics: 'analyticsPath',
  eventing: 'eventingPath',
  javaHome: 'javaHome',
};
const nodeInitFields = [...Object.values(initPaths), 'hostname', 'afamily', 'afamilyOnly', 'nodeEncryption'];
const credentialFields = ['port', 'username', 'password'];
const clusterInitFields = [
  ...nodeInitFields,
  ...poolFields,
  ...credentialFields,
  'sendStats',
  'services',
  'indexerStorageMode',
  'allowedHosts',
  'setDefaultMemQuotas',
];

export class ProvisioningService {
  readonly #deps: ProvisioningDeps;
  readonly #initializing = new KeyedQueue();

  constructor(deps: ProvisioningDeps) {
    this.#deps = deps;
  }

  get isProvisioned(): boolean {
    return this.#deps.administrators.administratorName() !== null;
  }

  async setServices(form: Form, justValidate: boolean): Promise<void> {
    const reader = new FormReader(form);
    const list = reader.required('services');
    const appliesDefaultQuotas = reader.boolean('setDefaultMemQuotas');
    const services = form['services'] === undefined ? [] : this.#services(list, reader.problems);
    reader.refuseIfInvalid();
    if (justValidate) return;
    await this.#deps.cluster.changeSelf((node) => {
      if (this.isProvisioned) throw nodeRefusals.servicesFixed();
      return { ...node, services };
    });
    if (appliesDefaultQuotas) await this.#deps.memory.applyDefaults();
  }

  #services(list: string, problems: Problems): string[] {
    const { services, problem } = readServices(list, this.#deps.startedServices);
    const text = this.isProvisioned ? nodeRefusals.servicesFixed.declaration.text : problem;
    if (text !== null) problems.add('services', text);
    else if (!services.includes('kv')) {
      problems.add('services', 'cannot setup first cluster node without kv service');
    }
    return services;
  }

  /** Sets or changes the credentials; ignores other fields. */
  async setWeb(form: Form, justValidate: boolean): Promise<void> {
    const which = this.isProvisioned ? 'any' : 'first';
    const reader = new FormReader(form);
    const credentials = this.#readCredentials(reader);
    reader.refuseIfInvalid();
    if (!justValidate) await this.#setAdministrator(credentials, which);
  }

  #readCredentials(reader: FormReader): Credentials {
    const port = reader.form['port'] ?? 'SAME';
    const username = reader.required('username');
    const password = reader.required('password');
    if (reader.form['port'] !== undefined) this.#checkPort(port, reader.problems);
    if (reader.form['username'] !== undefined && reader.form['password'] !== undefined) {
      reader.problems.addAll(this.#deps.administrators.administratorProblems(username, password));
    }
    return { username, password };
  }

  #checkPort(sent: string, problems: Problems): void {
    const present = this.#deps.view.self.ports.mgmt;
    if (sent === 'SAME') return;
    const problem = portProblem(sent);
    if (problem !== null) problems.add('port', problem);
    else if (Number(sent) !== present) {
      const text = `The port is fixed while the node runs (${present}); start it with another --rest-port, or send SAME.`;
      problems.add('port', text);
    }
  }

  /** The cluster gets its uuid before any user can log in. */
  async #setAdministrator({ username, password }: Credentials, which: 'first' | 'any'): Promise<void> {
    const { cluster, administrators, random } = this.#deps;
    await cluster.changeSelf((node) => ({ ...node, services: node.services ?? ['kv'] }));
    await cluster.change((state) => ({ ...state, uuid: state.uuid || hexId(random) }));
    await administrators.setAdministrator(username, password, which);
  }

  async initNode(form: Form, justValidate: boolean): Promise<void> {
    const reader = new FormReader(form);
    reader.requireAnyField();
    reader.only(nodeInitFields);
    const network = this.#deps.network.read(reader);
    reader.refuseIfInvalid();
    if (!justValidate) await this.#initNode(form, network);
  }

  async #initNode(form: Form, network: NetworkChange): Promise<void> {
    const { nodeSetup } = this.#deps;
    const { hostname } = form;
    const nameProblem = hostname === undefined ? null : await nodeSetup.renameProblem(hostname);
    if (nameProblem !== null) throw nodeRefusals.invalidInitName({ problem: nameProblem });
    const texts = await nodeSetup.setPaths(form, initPaths);
    if (texts.length > 0) throw nodeRefusals.invalidInitPaths({ problems: texts.join(' ') });
    if (hostname !== undefined) await nodeSetup.rename(hostname);
    await this.#deps.network.apply(network);
  }

  /** The whole set-up in one call. Calls run one at a time; those after the first are refused. */
  initCluster(form: Form, justValidate: boolean): Promise<void> {
    return this.#initializing.run('cluster', () => this.#initCluster(form, justValidate));
  }

  async #initCluster(form: Form, justValidate: boolean): Promise<void> {
    if (this.isProvisioned) throw nodeRefusals.alreadyProvisioned();
    const reader = new FormReader(form);
    reader.only(clusterInitFields);
    const services = this.#services(form['services'] ?? 'kv', reader.problems);
    const credentials = this.#readCredentials(reader);
    const pool = this.#deps.memory.read(reader);
    const sendStats = reader.boolean('sendStats');
    const network = this.#deps.network.read(reader);
    readHosts(reader);
    const storageMode = this.#deps.indexes.readStorageMode(reader, 'indexerStorageMode');
    const appliesDefaultQuotas = reader.boolean('setDefaultMemQuotas');
    reader.refuseIfInvalid();
    if (justValidate) return;
    await this.#initNode(form, network);
    await this.#deps.cluster.changeSelf((node) => ({ ...node, services }));
    if (appliesDefaultQuotas) await this.#deps.memory.applyDefaults();
    await this.#deps.memory.apply(pool);
    if (sendStats !== undefined) await this.#deps.stats.change({ sendStats });
    if (storageMode !== undefined) await this.#deps.indexes.change({ storageMode });
    await this.#setAdministrator(credentials, 'first');
  }
}

/** Accepts only `*`: the node accepts requests for any host name. */
function readHosts(reader: FormReader): void {
  const hosts = reader.text('allowedHosts');
  if (hosts !== undefined && hosts !== '*') {
    reader.problems.add(
      'allowedHosts',
      'Restricting hosts is not available in this version, only * is accepted',
    );
  }
}
