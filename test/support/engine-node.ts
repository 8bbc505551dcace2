// Node `a` of a cluster: its part that moves the configuration between a founder and NATS servers of the nodes. The other nodes are simulated
// by functions that answer its requests.
import assert from 'node:assert/strict';
import { SecretBox } from '#auth/secret-box.ts';
import type { ClusterState, NodeState } from '#cluster/config/cluster-state.ts';
import { EngineMove } from '#cluster/engine/engine-move.ts';
import { EnginePlaces } from '#cluster/engine/engine-place.ts';
import { engineKey, engineSecret } from '#cluster/engine/engine-record.ts';
import { EngineReturn } from '#cluster/engine/engine-return.ts';
import { ServerOffers } from '#cluster/engine/server-offers.ts';
import { ServerReplacement } from '#cluster/engine/server-replacement.ts';
import type { FounderNotice } from '#cluster/founder/founder-change.ts';
import type {
  EngineRecord,
  EngineTransfer,
  MoveToServers,
  NatsJoinParameters,
  NatsSource,
  ServerTask,
} from '#cluster/joining/join-messages.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import { aCluster, nodeNamed } from './cluster.ts';
import { SimulatedClock } from './simulated-clock.ts';

export const secrets = new SecretBox(Buffer.alloc(32, 1), realRandom);
const keyedCertificate = { certificate: 'certificate', key: 'key' };
const refusing = (): never => assert.fail('the test does not expect this call');

export const node = (uuid: string, changes: Partial<NodeState> = {}): NodeState =>
  nodeNamed(uuid, { otpNode: `ns_1@${uuid}`, hostname: uuid, ...changes });

export const recordOf = (nodes: readonly string[], source: NatsSource = someServers): EngineRecord => ({
  nodes,
  source: secrets.seal(engineSecret, JSON.stringify(source)),
});

export const someServers: NatsSource = { servers: 'tls://x', bucket: 'divan', files: {}, own: true };

interface Settings {
  nodes: NodeState[];
  state?: Partial<ClusterState>;
  /** Why the configuration cannot be reached. */
  problem?: string;
  isFounder?: boolean;
  /** The nodes whose servers have the configuration. */
  servers?: string[];
  /** Whether the nodes are to run the servers of the configuration (`--engine nats`). Default: true. */
  wantsServers?: boolean;
  /** Whether node `a` runs a server at first. */
  runsServer?: boolean;
  /** By node: the function that answers the requests of `a`. */
  answers?: Record<string, (name: string, body: unknown) => unknown>;
  /** The answer of this node to a node of an earlier epoch, while a founder has the configuration. */
  founderNotice?: FounderNotice;
  /** Called when the configuration returns to the founder, before the store on the servers ends; if it rejects, the return fails. */
  returning?: () => Promise<void>;
}

/** A node that records what it does. */
export async function aNode(settings: Settings) {
  const { nodes, state, problem = null, answers = {}, servers } = settings;
  const clock = new SimulatedClock();
  const memory = new MemoryConfigStore();
  if (servers !== undefined) await memory.put(engineKey, recordOf(servers), 0);
  const store = Object.assign(memory, { problem: servers === undefined ? null : problem });
  const cluster = aCluster({ nodes, ...state });
  /** The servers that nodes were told to run, by node. */
  const run = new Map<string, ServerTask>();
  const moves: MoveToServers[] = [];
  /** The servers, and the founders, that `a` began to use. */
  const used: NatsJoinParameters[] = [];
  const followed: NodeAddress[] = [];
  const events: string[] = [];
  /** Names of the requests to other nodes, with the node, and the bodies of the same requests. */
  const asked: string[] = [];
  const requests: unknown[] = [];
  /** By name: the functions by which `a` answers requests of other nodes. */
  const own = new Map<string, (body: never, from: string) => unknown>();
  let runsServer = settings.runsServer ?? false;
  let source = servers === undefined ? null : someServers;
  let isFounder = settings.isFounder ?? servers === undefined;
  const founderMirror = { problem, head: null, state: { revision: 0, records: [] } };
  const engineTransfer: EngineTransfer = {
    wantsServers: settings.wantsServers ?? true,
    offer: async () => ({ port: 1, routePort: 2 }),
    runServer: async (task) => void run.set('a', task),
    async moveToServers(request) {
      moves.push(request);
      source = request.parameters.nats;
      cluster.revEpoch = (cluster.revEpoch ?? 1) + 1;
      await store.put(engineKey, request.record, 0);
    },
    useServers: async (parameters) => void used.push(parameters),
    async returnToFounder(address) {
      await settings.returning?.();
      events.push(`returned to ${address.nodeId}`);
      source = null;
      isFounder = true;
      Object.assign(cluster, { founder: 'a', revEpoch: (cluster.revEpoch ?? 1) + 1 });
    },
    followFounder: async (founder) => void followed.push(founder),
    serverName: () => (runsServer ? 'of a' : null),
    async removeServer() {
      runsServer = false;
      events.push('removed its server');
    },
    removed: () => void events.push('removed'),
    sourceChanged: refusing,
    groupOf: refusing,
  };
  const membership = {
    get isFounder() {
      return isFounder;
    },
    clusterKey: () => new Uint8Array(32),
    natsSource: () => source,
    get founderTransfer() {
      if (source !== null) return null;
      return {
        mirror: isFounder ? null : { ...founderMirror, fence: refusing, release: refusing },
        takeOver: refusing,
        follow: refusing,
        pause: refusing,
        resume: refusing,
        handOver: refusing,
        stepDown: refusing,
      };
    },
    engineTransfer,
  };
  const view = {
    cluster,
    activeNodes: nodes.filter(({ membership }) => membership === 'active'),
    self: nodes.find(({ uuid }) => uuid === 'a') ?? node('a'),
    get revisionEpoch() {
      return cluster.revEpoch ?? 1;
    },
  };
  const peers = {
    answer: (name: string, answer: unknown) => void own.set(name, answer as never),
    async ask<Value>(to: string, name: string, body: unknown) {
      asked.push(`${name} ${to}`);
      requests.push(body);
      if (name === 'engine/run') run.set(to, body as ServerTask);
      return (await answers[to]?.(name, body)) as Value;
    },
  };
  const parts = {
    store,
    clock,
    secrets,
    view,
    membership,
    peers,
    random: realRandom,
    log: silentLog,
    identity: { nodeId: 'a', bootId: 'boot' },
    certificates: { ownCredentials: () => ({ ca: '', cert: '', key: '' }) },
    issue: async () => ({ authority: keyedCertificate, node: keyedCertificate, rsa: null }),
    stopServing: async () => {},
  };
  const offers = new ServerOffers(parts);
  const replacement = new ServerReplacement({ ...parts, offers });
  const founderChange = {
    noticeFor: () => settings.founderNotice ?? null,
    noticed: (notice: FounderNotice | null | undefined) =>
      void events.push(`noticed ${notice?.founder.nodeId}`),
  };
  const places = new EnginePlaces({ ...parts, founderChange });
  const returning = new EngineReturn({ ...parts, replacement, places });
  const move = new EngineMove({ ...parts, offers, replacement, places, returning });
  move.start();
  return { move, clock, store, run, moves, used, followed, events, asked, requests, own };
}
