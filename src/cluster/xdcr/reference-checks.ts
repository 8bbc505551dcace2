// Whether the clusters of references can be reached: while there are references, each node of their clusters is called at an interval. The
// result is shown as `connectivityStatus`, and the present nodes of a cluster are stored in its reference.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import {
  type CallTarget,
  type FoundCluster,
  findCluster,
  type TargetAccount,
  TargetError,
} from './target-cluster.ts';
import type { StoredReference, XdcrState } from './xdcr-state.ts';

/** The published names of: not measured yet, reached, refused by a node, reached in part, not reached. */
export const connectivityStatuses = ['RC_INIT', 'RC_OK', 'RC_AUTH_ERR', 'RC_DEGRADED', 'RC_ERROR'] as const;
export type ConnectivityStatus = (typeof connectivityStatuses)[number];

/** The pause between two checks of all references. */
const everyMs = 15_000;
/** How many references are checked at the same time. */
const atOnce = 8;
/** The most nodes of one cluster that are called. */
const nodesMax = 32;

export interface ReferenceChecksDeps {
  readonly state: WatchedSetting<XdcrState>;
  readonly callTarget: CallTarget;
  readonly accountOf: (reference: StoredReference) => TargetAccount;
  readonly clock: Clock;
  readonly log: Log;
}

interface MeasuredStatus {
  /** `accessOf` the reference when it was measured: a status counts only while that is the same. */
  readonly access: string;
  readonly status: ConnectivityStatus;
}

interface NodeAnswer {
  readonly node: string;
  /** Null: the node did not answer, or belongs to another cluster. */
  readonly found: FoundCluster | null;
  readonly isLoginRefused: boolean;
}

export class ReferenceChecks {
  readonly #deps: ReferenceChecksDeps;
  readonly #task: PeriodicTask;
  /** By the uuid of the cluster. */
  readonly #measured = new Map<string, MeasuredStatus>();
  #watch: { stop(): void } | null = null;
  #isRunning = false;
  #isMeasuringNew = false;

  constructor(deps: ReferenceChecksDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    const onError = ({ message }: Error) => log.warn('xdcr.check_failed', { reason: message });
    this.#task = new PeriodicTask({ everyMs, clock, onError });
  }

  start(): void {
    this.#watch = this.#deps.state.onChange(() => this.#follow());
    this.#follow();
  }

  stop(): void {
    this.#watch?.stop();
    this.#pause();
  }

  statusOf(reference: StoredReference): ConnectivityStatus {
    const measured = this.#measured.get(reference.uuid);
    return measured?.access === accessOf(reference) ? measured.status : 'RC_INIT';
  }

  #follow(): void {
    const { references } = this.#deps.state.value;
    for (const uuid of this.#measured.keys())
      if (!references.some((one) => one.uuid === uuid)) this.#measured.delete(uuid);
    if (references.length === 0) this.#pause();
    else this.#run();
  }

  #run(): void {
    if (!this.#isRunning) this.#task.start(() => this.#checkAll());
    this.#isRunning = true;
    void this.#measureNew();
  }

  /** Checks new and changed references at once, so that they have a status before the next periodic check. */
  async #measureNew(): Promise<void> {
    if (this.#isMeasuringNew) return;
    this.#isMeasuringNew = true;
    const unknown = () => this.#deps.state.value.references.filter((one) => this.statusOf(one) === 'RC_INIT');
    try {
      for (let next = unknown(); this.#isRunning && next.length > 0; next = unknown())
        await Promise.all(next.slice(0, atOnce).map((one) => this.#check(one)));
    } catch (error) {
      this.#deps.log.warn('xdcr.check_failed', { reason: (error as Error).message });
    }
    this.#isMeasuringNew = false;
  }

  #pause(): void {
    this.#isRunning = false;
    void this.#task.stop();
  }

  async #checkAll(): Promise<void> {
    const { references } = this.#deps.state.value;
    for (let at = 0; at < references.length; at += atOnce)
      await Promise.all(references.slice(at, at + atOnce).map((one) => this.#check(one)));
  }

  async #check(reference: StoredReference): Promise<void> {
    const account = this.#deps.accountOf(reference);
    const answers = await Promise.all(
      reference.nodes.slice(0, nodesMax).map((node) => this.#ask(reference, { ...account, hostname: node })),
    );
    if (!this.#isRunning) return;
    const nodes = nodesAfter(reference, answers);
    const counted = answers.filter(({ node }) => nodes === null || nodes.named.includes(node));
    this.#measured.set(reference.uuid, { access: accessOf(reference), status: statusOf(counted) });
    if (nodes !== null && !isSameSet(nodes.all, reference.nodes)) await this.#store(reference, nodes.all);
  }

  async #ask(reference: StoredReference, account: TargetAccount): Promise<NodeAnswer> {
    const node = account.hostname;
    try {
      const found = await findCluster(this.#deps.callTarget, account);
      // Another uuid: the address is that of another cluster now.
      return { node, found: found.uuid === reference.uuid ? found : null, isLoginRefused: false };
    } catch (error) {
      if (!(error instanceof TargetError)) throw error;
      return { node, found: null, isLoginRefused: error.isLoginRefused };
    }
  }

  /** Stores the nodes, unless what decides how the cluster is reached was changed meanwhile. */
  async #store(checked: StoredReference, nodes: readonly string[]): Promise<void> {
    await this.#deps.state.change((state) => ({
      ...state,
      references: state.references.map((one) =>
        one.uuid === checked.uuid && accessOf(one) === accessOf(checked) ? { ...one, nodes } : one,
      ),
    }));
  }
}

/** The nodes that the cluster names, and those that its reference stores from now on. Null: no node answered. */
function nodesAfter({ nodes }: StoredReference, answers: readonly NodeAnswer[]) {
  const first = answers.find(({ found }) => found !== null);
  if (first?.found == null) return null;
  // The address that answered is the first of `found.nodes`, whether or not the cluster names its node by it.
  const named = first.found.nodes;
  // The address by which the cluster was found stays: it may be the only one that does not change.
  const all = [...new Set([...nodes.slice(0, 1), ...named])];
  return { named, all };
}

function statusOf(answers: readonly NodeAnswer[]): ConnectivityStatus {
  if (answers.some(({ isLoginRefused }) => isLoginRefused)) return 'RC_AUTH_ERR';
  const reached = answers.filter(({ found }) => found !== null).length;
  if (reached === 0) return 'RC_ERROR';
  return reached < answers.length ? 'RC_DEGRADED' : 'RC_OK';
}

/** What decides whether the cluster can be reached. */
function accessOf(reference: StoredReference): string {
  const { hostname, username, sealedPassword, secureType } = reference;
  const { certificate, clientCertificate, sealedClientKey } = reference;
  return JSON.stringify([
    hostname,
    username,
    sealedPassword,
    secureType,
    certificate,
    clientCertificate,
    sealedClientKey,
  ]);
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((node) => other.includes(node));
