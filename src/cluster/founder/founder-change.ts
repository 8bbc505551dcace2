// The change of the founder after it was lost: at an operator's request a member takes over the store of the configuration. It asks the other members to
// promise that they do not follow the earlier founder meanwhile. It takes over only if a majority of the active members, not counting the failed
// ones, promises that, and begins with the newest copy of the configuration among them. Nodes that were unreachable learn the new founder by
// heartbeats, and a founder that learns of a later one steps down.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { type StoreContent, type StoreHead, type StoreTerm, supersedes } from '#replog/mirror/config-link.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NodeIdentity } from '../config/node-identity.ts';
import type { FounderJoinParameters, FounderTransfer } from '../joining/join-messages.ts';
import { nodeAddressOf } from '../peers/inter-node.ts';
import type { Peers } from '../peers/peers.ts';
import { failoverRefusals } from '../refusals/failover.refusals.ts';
import { takenOver } from './taken-over.ts';

export interface FounderChangeDeps {
  view: Pick<ClusterView, 'cluster' | 'revisionEpoch'>;
  identity: NodeIdentity;
  /** Null: no node stores the configuration, since it is on NATS servers. */
  founderTransfer: FounderTransfer | null;
  /** What this node needs as a member; null while it has no certificate of the cluster. */
  joinParametersFor: (founder: NodeAddress) => FounderJoinParameters | null;
  peers: Pick<Peers, 'ask' | 'answer'>;
  clock: Clock;
  log: Log;
}

/** Which founder a node follows, and the address of that founder. */
export interface FounderNotice {
  readonly epoch: number;
  readonly founder: NodeAddress;
}

interface Claim {
  readonly epoch: number;
}

interface ClaimAnswer {
  readonly isGranted: boolean;
  readonly head: StoreHead;
  /** The lowest epoch that this node would grant. */
  readonly epochMin: number;
}

/** What this node promised to the member that takes over, itself perhaps. */
interface Grant {
  readonly epoch: number;
  readonly to: string;
  readonly untilMs: number;
}

export interface TakeOverRequest {
  /** The nodes to fail over, the founder among them. */
  readonly failing: readonly NodeState[];
  /** The id of the failover plan, with which the new store begins. */
  readonly planId: string;
}

/** The time limit for a member to answer a claim. */
const claimMs = 3_000;
/** The time limit for a member to send its copy of the configuration. */
const stateMs = 30_000;
/** The time limit of a message that needs no answer. */
const noticeMs = 3_000;
/** A claim ends after this time if the member that made it has not taken over. */
const grantMs = 60_000;
/** How often a member claims the configuration, each time in a higher epoch. */
const attemptsMax = 3;

export class FounderChange {
  readonly #deps: FounderChangeDeps;
  #grant: Grant | null = null;
  /** This node's claim was granted, and it stores the configuration now: it no longer gives way to the claim of a member with a lower id. */
  #isTakingOver = false;
  #isSteppingDown = false;
  /** This node is handing the configuration over because it leaves: notices about the next founder are ignored meanwhile. */
  isHandingOver = false;

  constructor(deps: FounderChangeDeps) {
    this.#deps = deps;
    const { peers } = deps;
    peers.answer('founder/claim', (claim: Claim, from) => this.#claimed(claim, from));
    peers.answer('founder/release', (_: null, from) => this.#released(from));
    peers.answer('founder/state', () => deps.founderTransfer?.mirror?.state ?? null);
    peers.answer('founder/notice', (notice: FounderNotice) => this.noticed(notice));
  }

  /** The id, revision and term of the store that this node has, or follows. */
  get head(): StoreHead {
    const { founderTransfer, view, identity } = this.#deps;
    const { uuid, founder = identity.nodeId } = view.cluster;
    const head = founderTransfer?.mirror?.head;
    return { identity: uuid, revision: 0, epoch: view.revisionEpoch, founder, ...head };
  }

  /** A member is taking the configuration over from a lost founder. */
  get isBusy(): boolean {
    return this.#activeGrant() !== null;
  }

  /** Another node stores the configuration, and cannot be used now. */
  get isFounderUnreachable(): boolean {
    return (this.#deps.founderTransfer?.mirror?.problem ?? null) !== null;
  }

  /** The notice for a node that is, or follows, the founder of that term; null: it follows no earlier founder than this node. */
  noticeFor(term: StoreTerm | undefined): FounderNotice | null {
    const { epoch = 1, founder } = this.head;
    if (this.#deps.founderTransfer === null || term === undefined || !supersedes(this.head, term))
      return null;
    const node = this.#deps.view.cluster.nodes.find(({ uuid }) => uuid === founder);
    return node === undefined ? null : { epoch, founder: nodeAddressOf(node) };
  }

  /** Follows a later founder than this node's; a founder steps down for it. */
  noticed(notice: FounderNotice | null | undefined): void {
    const { founderTransfer, log } = this.#deps;
    if (!notice || founderTransfer === null || this.#isSteppingDown || this.isHandingOver) return;
    const { epoch, founder } = notice;
    if (!supersedes({ epoch, founder: founder.nodeId }, this.head)) return;
    if (founderTransfer.mirror !== null) {
      founderTransfer.follow(founder, epoch);
      return;
    }
    const parameters = this.#deps.joinParametersFor(founder);
    if (parameters === null) return;
    this.#isSteppingDown = true;
    log.error('founder.steps_down', { epoch: this.head.epoch, later: epoch, founder: founder.nodeId });
    founderTransfer.stepDown(parameters);
  }

  /** @throws a refusal. */
  async takeOver({ failing, planId }: TakeOverRequest): Promise<void> {
    const { founderTransfer, identity, log, clock } = this.#deps;
    const mirror = founderTransfer?.mirror ?? null;
    if (founderTransfer === null || mirror === null) return;
    const { nodes } = this.#deps.view.cluster;
    const isFailing = failing.some(({ uuid }) => uuid === identity.nodeId);
    if (isFailing || !nodes.some((node) => node.uuid === identity.nodeId && isActive(node)))
      throw failoverRefusals.mayNotBecomeFounder();
    const others = this.#others(failing);
    if (this.#activeGrant() !== null) throw failoverRefusals.founderChanging();
    try {
      const { epoch, answers } = await this.#claim(others);
      const state = await this.#newest(answers);
      // Another member with a lower id may have claimed the configuration meanwhile.
      if (this.#grant?.to !== identity.nodeId) throw failoverRefusals.founderChanging();
      this.#isTakingOver = true;
      const content = takenOver(state, {
        node: identity.nodeId,
        boot: identity.bootId,
        epoch,
        planId,
        startedMs: clock.wallMs(),
        failing: failing.map(({ uuid }) => uuid),
      });
      await founderTransfer.takeOver(content);
      log.warn('founder.took_over', { epoch, revision: state.revision, copies: answers.length + 1 });
    } catch (error) {
      this.#withdraw(others);
      throw error;
    } finally {
      this.#isTakingOver = false;
    }
    this.#grant = null;
    this.announce();
  }

  /** Resolves once a majority of the active members has promised to follow this node in that epoch. */
  async #claim(others: readonly NodeState[]) {
    const { identity, clock, founderTransfer } = this.#deps;
    let epoch = Math.max(this.head.epoch ?? 1, this.#grant?.epoch ?? 0) + 1;
    for (let attempt = 1; ; attempt++) {
      this.#grant = { epoch, to: identity.nodeId, untilMs: clock.monotonicMs() + grantMs };
      founderTransfer?.mirror?.fence();
      const answers = await this.#askAll(others, epoch);
      const laterAnswer = answers.find(({ answer }) => supersedes(answer.head, this.head));
      if (laterAnswer !== undefined) throw failoverRefusals.founderTaken();
      const granted = answers.filter(({ answer }) => answer.isGranted);
      if (this.#grant.to !== identity.nodeId) throw failoverRefusals.founderChanging();
      const votes = activeCount(granted.map(({ node }) => node)) + 1;
      if (2 * votes > activeCount(others) + 1) return { epoch, answers: granted };
      const reached = answers.map(({ node }) => node);
      if (2 * (activeCount(reached) + 1) <= activeCount(others) + 1) throw unreached(others, reached);
      epoch = Math.max(epoch, ...answers.map(({ answer }) => answer.epochMin));
      if (attempt === attemptsMax || epoch === this.#grant.epoch) throw failoverRefusals.founderChanging();
    }
  }

  async #askAll(others: readonly NodeState[], epoch: number) {
    const answers = await Promise.all(
      others.map(async (node) => {
        try {
          const claim: Claim = { epoch };
          const answer = await this.#deps.peers.ask<ClaimAnswer>(node.uuid, 'founder/claim', claim, claimMs);
          return { node, answer };
        } catch {
          return null; // the node was not reached
        }
      }),
    );
    return answers.filter((answer) => answer !== null);
  }

  /** The newest copy among those that the members have. */
  async #newest(answers: readonly { node: NodeState; answer: ClaimAnswer }[]): Promise<StoreContent> {
    const { founderTransfer, peers } = this.#deps;
    const mirrorState = founderTransfer?.mirror?.state as StoreContent;
    const [first] = [...answers].sort((a, b) => b.answer.head.revision - a.answer.head.revision);
    if (first === undefined || first.answer.head.revision <= mirrorState.revision) return mirrorState;
    const found = await peers.ask<StoreContent | null>(first.node.uuid, 'founder/state', null, stateMs);
    return found ?? mirrorState;
  }

  #claimed({ epoch }: Claim, from: string): ClaimAnswer {
    const { identity, clock, founderTransfer } = this.#deps;
    const mirror = founderTransfer?.mirror ?? null;
    const head = this.head;
    const grant = this.#activeGrant();
    const promisedToOther = this.#grant?.to === from ? 0 : (this.#grant?.epoch ?? 0);
    const epochMin = Math.max(head.epoch ?? 1, promisedToOther) + 1;
    // When two members claim at once, the one with the lower id continues.
    const givesWay = grant?.to === identity.nodeId && !this.#isTakingOver && from < identity.nodeId;
    const isFree = grant === null || grant.to === from || givesWay;
    const isGranted = mirror !== null && isFree && epoch >= (givesWay ? (head.epoch ?? 1) + 1 : epochMin);
    if (isGranted) {
      this.#grant = { epoch, to: from, untilMs: clock.monotonicMs() + grantMs };
      mirror.fence();
      clock.after(grantMs, () => this.#expire());
    }
    return { isGranted, head, epochMin };
  }

  #released(from: string): void {
    if (this.#grant?.to !== from) return;
    this.#grant = { ...this.#grant, untilMs: 0 };
    this.#expire();
  }

  /** `#grant` keeps the epoch: after a member took over and was lost, no other member may take over in the same epoch. */
  #expire(): void {
    if (this.#activeGrant() === null && this.#grant !== null) this.#deps.founderTransfer?.mirror?.release();
  }

  #activeGrant(): Grant | null {
    const isActive = this.#grant !== null && this.#deps.clock.monotonicMs() < this.#grant.untilMs;
    return isActive ? this.#grant : null;
  }

  #withdraw(others: readonly NodeState[]): void {
    const { identity, peers } = this.#deps;
    for (const { uuid } of others) peers.ask(uuid, 'founder/release', null, noticeMs).catch(() => {});
    this.#released(identity.nodeId);
  }

  /** Notifies the other nodes which founder they must follow now. Nodes that cannot be reached get the notice with later heartbeats. */
  announce(): void {
    const { peers, view, identity } = this.#deps;
    // Epoch 0 is before the first: every node gets the notice.
    const notice = this.noticeFor({ epoch: 0 });
    for (const { uuid } of view.cluster.nodes)
      if (uuid !== identity.nodeId) peers.ask(uuid, 'founder/notice', notice, noticeMs).catch(() => {});
  }

  #others(failing: readonly NodeState[]): NodeState[] {
    const { view, identity } = this.#deps;
    const ids = [identity.nodeId, ...failing.map(({ uuid }) => uuid)];
    return view.cluster.nodes.filter(({ uuid }) => !ids.includes(uuid));
  }
}

const isActive = ({ membership }: NodeState): boolean => membership === 'active';

const activeCount = (nodes: readonly NodeState[]): number => nodes.filter(isActive).length;

function unreached(others: readonly NodeState[], reached: readonly NodeState[]): Error {
  const names = others.filter((node) => isActive(node) && !reached.includes(node));
  return failoverRefusals.founderVotes({ names: names.map(({ otpNode }) => otpNode).join(', ') });
}
