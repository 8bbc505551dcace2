// A cluster manager in memory behind its HTTP pipeline, with a fake data service and machine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { InjectOptions } from 'light-my-request';
import type { Kdf } from '#auth/kdf.ts';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import { DataPortError } from '#client/data-port-error.ts';
import { createHttpServer } from '#http/server.ts';
import type { BucketReport, CompactionRequest, KvDesired, KvReport } from '#kv/admin.ts';
import { flatten } from '#metrics/registry.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { type ConfigStore, update } from '#replog/config-store.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { Mailer } from '../../src/cluster/alerts/mailer.ts';
import type { AuditFile } from '../../src/cluster/audit/audit-file.ts';
import type { Inbox, InboxFile } from '../../src/cluster/certificates/inbox.ts';
import type { IssueCertificates, IssuedCertificates } from '../../src/cluster/certificates/issue.ts';
import type { PassphraseSources } from '../../src/cluster/certificates/passphrase.ts';
import {
  type ClusterState,
  clusterKey,
  type Edition,
  type Family,
  type NodeState,
  type Vocabulary,
} from '../../src/cluster/config/cluster-state.ts';
import type { DataPortAccess } from '../../src/cluster/documents/open-bucket.ts';
import type { OpenJournal } from '../../src/cluster/events/events.feature.ts';
import type { NodeMembership } from '../../src/cluster/joining/join-messages.ts';
import type { CallRemote } from '../../src/cluster/joining/remote-node.ts';
import type { DirectoryServer } from '../../src/cluster/ldap/directory-server.ts';
import type { BundleFiles } from '../../src/cluster/log-collection/bundle-files.ts';
import { createClusterManager } from '../../src/cluster/manager.ts';
import type { System } from '../../src/cluster/nodes/system.ts';
import type { NodeNet } from '../../src/cluster/peers/inter-node.ts';
import type { ServiceAddress } from '../../src/cluster/service-proxy.ts';
import type { CallTarget } from '../../src/cluster/xdcr/target-cluster.ts';
import type { XdcrAdmin } from '../../src/xdcr/xdcr.contract.ts';
import { aCluster, ownNodeId } from './cluster.ts';
import { aBucketReport, aKvReport } from './kv-reports.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryJournal } from './memory-journal.ts';
import { metricsInMemory } from './metrics.ts';

const gib = 1024 ** 3;

/** Distinct hashes, computed fast. */
const quickKdf: Kdf = {
  scrypt: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
  pbkdf2: async (password, salt) => Buffer.concat([salt, Buffer.from(password)]),
};

const system: System = {
  os: 'x86_64-unknown-linux',
  figures: async () => ({
    memory: { total: 8 * gib, free: 4 * gib, limit: 8 * gib, used: 5 * gib, swapTotal: gib, swapUsed: 0 },
    cpu: {
      utilization: 12.5,
      user: 8,
      system: 4,
      irq: 0.5,
      stolen: 0,
      cores: 2,
      count: 2,
      host: { utilization: 25, user: 16, system: 8 },
    },
    allocationStalls: 0,
    disk: await system.disk(),
  }),
  disk: async () => ({
    mountPoint: '/',
    totalBytes: 100 * gib,
    usedBytes: 40 * gib,
    // Ten GiB are reserved for root, as file systems do.
    freeBytes: 50 * gib,
  }),
};

/** An authority and a certificate for localhost, as an earlier version generated them. */
export const issuedCertificates = JSON.parse(
  readFileSync(new URL('../fixtures/issued-certificates.json', import.meta.url), 'utf8'),
) as IssuedCertificates;

const noFile = (path: string): InboxFile => ({ path, text: null, problem: 'The file does not exist.' });
const emptyInbox: Inbox = {
  authorities: async () => ({ folder: '/data/inbox/CA', files: [] }),
  chain: async () => noFile('/data/inbox/chain.pem'),
  key: async () => noFile('/data/inbox/pkey.key'),
};
const noDirectory: DirectoryServer = {
  login: async () => ({ kind: 'failed', reason: 'there is no LDAP server' }),
  groups: async () => ({ kind: 'failed', reason: 'there is no LDAP server' }),
  reach: async () => 'there is no LDAP server',
};
const noAudit: AuditFile = { append: () => {}, problem: async () => null, close: () => {} };
const noBundles: BundleFiles = {
  folder: '/data/tmp',
  write: async () => assert.fail('no bundle is written'),
  logs: async () => [],
  async *tail() {},
  sizes: async () => ({}),
};
const noPassphrases: PassphraseSources = {
  run: async () => assert.fail('no script is run'),
  request: async () => assert.fail('no passphrase service is called'),
  scriptProblem: async () => null,
};

/** Applies every state at once and reports the `figures` of a test, by bucket name. */
export class FakeKv {
  desired: KvDesired | null = null;
  readonly figures: Record<string, Partial<BucketReport>> = {};
  #activity = 0;
  /** What `randomKey` returns. */
  key: string | null = null;
  /** Compactions and their cancellations, in the order of the calls. */
  readonly compactions: [string, CompactionRequest | string][] = [];

  async apply(desired: KvDesired): Promise<KvReport> {
    this.desired = structuredClone(desired);
    return this.report();
  }
  async report(bucketUuid?: string): Promise<KvReport> {
    const all = this.desired?.buckets ?? [];
    const buckets = all.filter(({ uuid }) => bucketUuid === undefined || uuid === bucketUuid);
    return aKvReport({
      buckets: buckets.map(({ name, uuid, incarnation }) => this.#reportOf(name, uuid, incarnation)),
    });
  }
  /** Is higher at each call, since a test may have changed the figures meanwhile. */
  activityCount(): number {
    return ++this.#activity;
  }
  async randomKey(): Promise<string | null> {
    return this.key;
  }
  async followMap(): Promise<void> {}
  async shardPositions(): Promise<[]> {
    return [];
  }
  async compact(uuid: string, request: CompactionRequest): Promise<void> {
    this.compactions.push([uuid, request]);
  }
  async cancelCompaction(uuid: string, origin?: string): Promise<void> {
    this.compactions.push([uuid, `cancel ${origin}`]);
  }
  #reportOf(name: string, uuid: string, incarnation: number): BucketReport {
    return aBucketReport({ name, uuid, incarnation, ...this.figures[name] });
  }
}

export interface ManagerOptions {
  edition?: Edition;
  wireNames?: Vocabulary;
  store?: ConfigStore;
  /** The IP families of the addresses that the node was started on. */
  families?: readonly Family[];
  issue?: IssueCertificates;
  /** Default: mails are discarded. */
  mailer?: Mailer;
  /** Default: the audit log is discarded. */
  auditFile?: AuditFile;
  /** Default: no support bundle can be written. */
  bundleFiles?: BundleFiles;
  /** Default: a directory without users. */
  directoryServer?: DirectoryServer;
  /** Default: events are kept in memory. */
  journal?: OpenJournal;
  inbox?: Inbox;
  /** Default: there is no data port. */
  dataPort?: DataPortAccess;
  /** Default: there is no other node. */
  callRemote?: CallRemote;
  callTarget?: CallTarget;
  /** Default: replications are not executed. */
  xdcr?: XdcrAdmin;
  nodeId?: string;
  membership?: NodeMembership;
  /** Default: every port of another node can be reached. */
  portProblem?: string;
  net?: NodeNet;
  /** Default: the node does not run the query service. */
  queryPort?: ServiceAddress;
  /** Default: the node does not run the backup service. */
  backupPort?: ServiceAddress;
  /** The time at which its manual clock begins. */
  startMs?: number;
  /** Provisions as `Administrator` / `password` unless false. */
  provisioned?: boolean;
}

export const administrator = { username: 'Administrator', password: 'password' };

export interface Sent {
  method?: InjectOptions['method'];
  /** The fields of a form; a list of pairs can have a name more than once. */
  form?: Record<string, string | number> | [string, string][];
  json?: unknown;
  /** A raw body. */
  raw?: string;
  accept?: string;
  /** Address of the client; this machine's unless given. */
  from?: string;
  /** `name:password`; null for none. Default: the administrator. */
  as?: string | null;
  headers?: Record<string, string>;
}

export async function aManager(options: ManagerOptions = {}) {
  const store = options.store ?? new MemoryConfigStore();
  const clock = new ManualClock(options.startMs);
  const kv = new FakeKv();
  const metrics = metricsInMemory(clock);
  const manager = createClusterManager({
    store,
    kv,
    clock,
    system,
    kdf: quickKdf,
    random: realRandom,
    log: silentLog,
    identity: { nodeId: options.nodeId ?? ownNodeId, bootId: 'b0071d' },
    secrets: new SecretBox(Buffer.alloc(secretKeyBytes, 7), realRandom),
    edition: options.edition ?? 'enterprise',
    wireNames: options.wireNames ?? 'branded',
    release: '0.1.0',
    dataFolder: '/data',
    environment: {
      nameProblem: async (name) =>
        name === 'elsewhere' ? 'Could not listen on address "elsewhere": eaddrnotavail' : null,
      physicalPath: async (path) => path.replace(/^\/linked\b/, '/data').replace(/\/$/, ''),
      usableFolder: async (path) => path.startsWith('/ours'),
      families: options.families ?? ['inet'],
      listensOnLoopbackOnly: false,
      isLoopback: (name) => name.startsWith('127.') || name === 'localhost',
      isOwnLoopback: (name) => name === '127.64.0.1',
    },
    certificateFiles: {
      load: async () => ({ authority: null, node: null, names: '' }),
      remove: async () => {},
    },
    mailer: () => options.mailer ?? { send: async () => ({ sent: true, refused: [], unsupported: [] }) },
    directoryServer: () => options.directoryServer ?? noDirectory,
    auditFile: options.auditFile ?? noAudit,
    bundleFiles: options.bundleFiles ?? noBundles,
    inbox: options.inbox ?? emptyInbox,
    dataPort: options.dataPort ?? (() => Promise.reject(new DataPortError('there is no data port'))),
    ...(options.xdcr && { xdcr: options.xdcr }),
    ...(options.queryPort && { queryPort: options.queryPort }),
    ...(options.backupPort && { backupPort: options.backupPort }),
    passphrases: noPassphrases,
    issue: options.issue ?? (async () => issuedCertificates),
    journal: options.journal ?? (() => new MemoryJournal()),
    callTarget: options.callTarget ?? (async () => assert.fail('no other cluster is called')),
    callRemote: options.callRemote ?? (async () => assert.fail('no other node is called')),
    portProblem: async () => options.portProblem ?? null,
    ...(options.membership && { membership: options.membership }),
    ...(options.net && { net: options.net }),
    ownNames: [],
    memoryBytes: () => 8 * gib,
    metrics,
    managerBytes: () => 50 * 1024 ** 2,
    process: () => ({
      userSeconds: 2,
      systemSeconds: 1,
      residentBytes: 100 * 1024 ** 2,
      minorFaults: 12,
      majorFaults: 1,
      startedSeconds: 5,
    }),
  });
  await manager.open();
  const { authority, hooks, meter } = manager;
  const common = { authority, hooks, meter, log: silentLog, clock };
  const server = await createHttpServer({
    routes: manager.routes,
    ...common,
    sessions: manager.sessions,
    throttle: manager.throttles.rest,
  });
  const capi = await createHttpServer({
    routes: manager.capiRoutes,
    ...common,
    throttle: manager.throttles.capi,
  });
  await manager.start(aCluster().nodes[0]?.ports as never);
  const requestTo =
    (target: typeof server) =>
    async (url: string, sent: Sent = {}) => {
      const credentials = sent.as === undefined ? 'Administrator:password' : sent.as;
      const response = await target.inject({
        method: sent.method ?? (sent.form || sent.raw !== undefined ? 'POST' : 'GET'),
        url,
        ...(sent.from && { remoteAddress: sent.from }),
        ...(sent.raw !== undefined && { payload: sent.raw }),
        headers: {
          ...sent.headers,
          ...(credentials !== null && {
            authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          }),
          ...(sent.form && { 'content-type': 'application/x-www-form-urlencoded' }),
          ...(sent.accept && { accept: sent.accept }),
          ...(sent.json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(sent.form && { payload: new URLSearchParams(sent.form as Record<string, string>).toString() }),
        ...(sent.json !== undefined && { payload: JSON.stringify(sent.json) }),
      });
      const text = response.payload;
      const isJson = String(response.headers['content-type']).startsWith('application/json');
      return {
        status: response.statusCode,
        headers: response.headers,
        text,
        body: isJson && text !== '' ? JSON.parse(text) : undefined,
      };
    };
  const request = requestTo(server);
  if (options.provisioned !== false) {
    await request('/clusterInit', {
      form: { services: 'kv', memoryQuota: 1024, port: 'SAME', ...administrator },
    });
  }
  /** Adds a sample of the current metrics. */
  const sample = async () =>
    metrics.store.appendRecent(clock.wallMs(), [...flatten(await metrics.registry.collect())]);
  return { request, requestCapi: requestTo(capi), server, manager, kv, store, clock, metrics, sample };
}

/** A manager whose cluster has further nodes, which do not run. */
export async function managedCluster(nodes: readonly NodeState[]) {
  const { request, manager, store } = await aManager();
  const change = (next: (state: ClusterState) => ClusterState) =>
    update<ClusterState>(store, clusterKey, aCluster(), next);
  await change((state) => ({ ...state, nodes: [...state.nodes, ...nodes] }));
  const state = async (): Promise<ClusterState> =>
    ((await store.get<ClusterState>(clusterKey)) ?? assert.fail('no cluster')).value;
  return { request, manager, store, change, state };
}
