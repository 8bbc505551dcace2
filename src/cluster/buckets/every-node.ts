// The data services of all nodes with documents, as one: a request to any node is executed on each of them.
import { UnavailableError } from '#base/unavailable-error.ts';
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { CompactionOrigin, CompactionRequest, DataService } from '../config/data-service.ts';
import type { Peers } from '../peers/peers.ts';

export interface EveryNodeDeps {
  view: ClusterView;
  nodeId: string;
  /** The data service of this node. */
  data: DataService;
  peers: Peers;
  /** How long ago the last heartbeat of a node came to this one, or to another that reported it. */
  silentMs: (nodeId: string) => number;
  clock: Clock;
  log: Log;
}

interface AppliedRequest {
  revision: number;
  timeoutMs: number;
}

/** Added to the time that the other node may take to answer. */
const marginMs = 1_000;
const askTimeoutMs = 5_000;
/** No change waits for a node that has sent no heartbeat for this long: it hangs or is cut off, and serves nobody. */
const goneAfterMs = 5_000;
const goneCheckMs = 500;
/** Within this many turns of the event loop, all sockets are read whose bytes have arrived. */
const turnsUntilRead = 2;

/** Lets other nodes use this node's data service. */
export function answerForData(peers: Peers, data: DataService): void {
  peers.answer('applied', ({ revision, timeoutMs }: AppliedRequest) => data.applied(revision, timeoutMs));
  // Nodes of earlier versions send and read the request as `order`.
  peers.answer('compact', ({ uuid, order: request }: { uuid: string; order: CompactionRequest }) =>
    data.compact(uuid, request),
  );
  peers.answer('cancelCompaction', ({ uuid, origin }: { uuid: string; origin: CompactionOrigin }) =>
    data.cancelCompaction(uuid, origin),
  );
  peers.answer('randomKey', ({ bucket }: { bucket: string }) => data.randomKey(bucket));
}

/** The interface of a data service over all nodes with documents. Figures are those of this node. */
export function everyNode(deps: EveryNodeDeps): DataService {
  const { view, nodeId, data, peers, log } = deps;
  const others = () => view.dataNodes.filter(({ uuid }) => uuid !== nodeId);
  /**
   * Leaves out nodes that do not answer: compactions are asynchronous, and such a node compacts by its thresholds later.
   * @throws UnavailableError if this node has no documents and no other node has answered
   */
  const onEachOther = async (name: string, body: unknown): Promise<void> => {
    const calls = others().map(async ({ uuid, otpNode }) => {
      try {
        await peers.ask(uuid, name, body, askTimeoutMs);
        return null;
      } catch (error) {
        const reason = (error as Error).message;
        log.warn('compaction.node_left_out', { node: otpNode, request: name, reason });
        return `Node ${otpNode} of the cluster did not execute "${name}": ${reason}`;
      }
    });
    const problems = await Promise.all(calls);
    const [problem = null] = problems;
    if (!view.isActive && problem !== null && !problems.includes(null)) throw new UnavailableError(problem);
  };
  return {
    async applied(revision, timeoutMs) {
      const body: AppliedRequest = { revision, timeoutMs };
      const elsewhere = others().map(({ uuid }) => {
        const asked = peers.ask<boolean>(uuid, 'applied', body, timeoutMs + marginMs).catch(() => false);
        return unlessGone(deps, uuid, asked);
      });
      const all = await Promise.all([data.applied(revision, timeoutMs), ...elsewhere]);
      return all.every((isApplied) => isApplied);
    },
    caughtUp: (timeoutMs) => data.caughtUp(timeoutMs),
    refresh: (bucketUuid) => data.refresh(bucketUuid),
    measured: (bucketUuid) => data.measured(bucketUuid),
    connections: () => data.connections(),
    metrics: () => data.metrics(),
    async randomKey(bucket) {
      const ownKey = view.isActive ? await data.randomKey(bucket) : null;
      for (const { uuid } of ownKey === null ? others() : []) {
        const reply = peers.ask<string | null>(uuid, 'randomKey', { bucket }, askTimeoutMs);
        const key = await reply.catch(() => null);
        if (key !== null) return key;
      }
      return ownKey;
    },
    async compact(uuid, request) {
      if (view.isActive) await data.compact(uuid, request);
      await onEachOther('compact', { uuid, order: request });
    },
    async cancelCompaction(uuid, origin) {
      if (view.isActive) await data.cancelCompaction(uuid, origin);
      await onEachOther('cancelCompaction', { uuid, origin });
    },
    onChange: (listener) => data.onChange(listener),
  };
}

/** False as soon as the node is gone. */
async function unlessGone(
  { silentMs, clock }: Pick<EveryNodeDeps, 'silentMs' | 'clock'>,
  node: string,
  answer: Promise<boolean>,
): Promise<boolean> {
  const answered = new AbortController();
  const isSilent = (): boolean => silentMs(node) >= goneAfterMs;
  const whenGone = async (): Promise<boolean> => {
    for (;;) {
      // If this thread was held up, heartbeats may have arrived that it has not read yet.
      for (let turn = 0; isSilent() && turn < turnsUntilRead; turn++) await nextTurn(clock);
      if (isSilent()) return false;
      await clock.sleep(goneCheckMs, answered.signal);
    }
  };
  const gone = whenGone();
  gone.catch(() => {}); // ended by the answer
  try {
    return await Promise.race([answer, gone]);
  } finally {
    answered.abort(new Error('the node has answered'));
  }
}
