// Creates and connects the parts of the hosted management API: store, access, services, operations, provisioner, HTTP.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { type AuthenticatedRequest, TokenAuthenticator } from './access/authenticator.ts';
import { RateLimit } from './access/rate-limit.ts';
import { timestampHeader } from './access/signature.ts';
import { findSubject } from './access/subjects.ts';
import { TokenUses } from './access/token-uses.ts';
import { type NewToken, startOrigin, TokenStore } from './access/tokens.store.ts';
import { allowlistOperations } from './allowlist/allowlist.routes.ts';
import { AllowlistService } from './allowlist/allowlist.service.ts';
import { AllowlistStore } from './allowlist/allowlist.store.ts';
import { bucketOperations } from './buckets/buckets.routes.ts';
import { callerOperations } from './callers/callers.routes.ts';
import { cloudOperations } from './clouds/clouds.routes.ts';
import { ClusterLifecycleService } from './clusters/cluster-lifecycle.service.ts';
import { ClusterNodes } from './clusters/cluster-nodes.ts';
import { ClusterScaleService } from './clusters/cluster-scale.service.ts';
import { ClustersService } from './clusters/clusters.service.ts';
import { HomeCapacities } from './clusters/home-capacities.ts';
import { ReadyClusters } from './clusters/ready-cluster.ts';
import { v2ClusterOperations } from './clusters/v2.routes.ts';
import { v3ClusterOperations } from './clusters/v3.routes.ts';
import { databaseUserOperations } from './database-users/database-users.routes.ts';
import { DatabaseUsersService } from './database-users/database-users.service.ts';
import { UnconfirmedUserChanges } from './database-users/unconfirmed-user-changes.ts';
import { healthOperations } from './health/health.routes.ts';
import { createApi } from './http/api.ts';
import type { BoundOperation } from './http/operation.ts';
import { createCluster } from './lifecycle/create-cluster.ts';
import { deleteCluster } from './lifecycle/delete-cluster.ts';
import { resumeNodes } from './lifecycle/resume-nodes.ts';
import { scaleCluster } from './lifecycle/scale-cluster.ts';
import { unknownOperationFailed } from './lifecycle/unknown-operation.ts';
import { type OperationRouteParts, operationOperations } from './operations/operations.routes.ts';
import { OperationsStore } from './operations/operations.store.ts';
import { Worker } from './operations/worker.ts';
import { organizationUserOperations } from './organization-users/organization-users.routes.ts';
import { projectOperations } from './projects/projects.routes.ts';
import { ProjectsService } from './projects/projects.service.ts';
import type { Provisioner } from './provisioner/provisioner.ts';
import { statusOperations } from './status/status.routes.ts';
import { insertInitialRows } from './store/initial-rows.ts';
import { type StoreState, StoreVersions } from './store/state.ts';
import type { Store } from './store/tables.ts';

export interface CloudOptions {
  /** The database after migrations. */
  store: Store;
  state: StoreState;
  secrets: SecretBox;
  provisioner: Provisioner;
  /** Identifies the nodes of this process in the store. */
  home: string;
  /** The local address of the cloud's requests to nodes, which admit it always; undefined: any. */
  operatorAddress: string | undefined;
  /** Memory of all nodes of this process together. */
  capacityMb: number;
  /** The share of an instance's memory that its node gets. */
  sizeScale: number;
  /** Requests per second per token. */
  requestsPerSecond: number;
  /** The base URL of paging links; undefined: they have the local address of the connection. */
  publicUrl?: string | undefined;
  version: string;
  clock: Clock;
  random: Random;
  log: Log;
  /** Disk space reserved for deletions. */
  diskReserve?: DiskReserve;
}

export interface Cloud {
  readonly api: FastifyInstance;
  /** The token of this start; those of earlier starts are revoked. */
  readonly startToken: NewToken;
  stop(): Promise<void>;
}

const drainTimeoutMs = 5_000;

export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { tenantId } = await insertInitialRows(options);
  const parts = partsOf(options);
  const { allowlist, authenticator, capacities, databaseUsers, nodes, tokens, unconfirmed, worker } = parts;
  const api = createApi({
    ...options,
    authenticate: (request) => authenticator.authenticate(presentedBy(request)),
    authenticateAgain: (request, caller) => authenticator.authenticateAgain(presentedBy(request), caller),
    find: (kind, id) => findSubject(options.store, kind, id),
    operations: boundOperations(options, { ...parts, tenantId }),
  });
  await capacities.record();
  await resumeNodes({ ...options, nodes });
  await worker.start();
  allowlist.start();
  unconfirmed.start(async (row, username) =>
    databaseUsers.confirm({ row, client: await nodes.founderClient(row) }, username),
  );
  return {
    api,
    startToken: await startTokenOf(tokens, options.home),
    stop: () => stopAll(options, api, parts),
  };
}

const presentedBy = ({ headers, method, url }: FastifyRequest): AuthenticatedRequest => ({
  authorization: headers.authorization,
  timestamp: headers[timestampHeader] as string | undefined,
  method,
  target: url,
  host: headers.host,
});

/** The parts of the cloud, in order of their dependencies; `startCloud` starts them. */
function partsOf(options: CloudOptions) {
  const tokens = new TokenStore(options);
  const operations = new OperationsStore(options);
  const nodes = new ClusterNodes(options);
  const allowlist = new AllowlistService({ ...options, nodes, entries: new AllowlistStore(options) });
  const unconfirmed = new UnconfirmedUserChanges(options);
  const databaseUsers = new DatabaseUsersService({ ...options, unconfirmed });
  const plans = {
    create: createCluster({ ...options, nodes, allowlist }),
    scale: scaleCluster({ ...options, nodes, allowlist, databaseUsers }),
    delete: deleteCluster({ ...options, nodes, allowlist }),
  };
  const unknownFailed = unknownOperationFailed(options.clock);
  const owner = options.random.uuid();
  const worker = new Worker({ ...options, operations, owner, plans, unknownFailed });
  const capacities = new HomeCapacities(options);
  const serviceParts = { ...options, operations, nodes, wake: () => worker.wake() };
  const uses = new TokenUses({ ...options, tokens });
  const limit = new RateLimit(options.requestsPerSecond, options.clock);
  const versions = new StoreVersions(options.state);
  return {
    tokens,
    nodes,
    allowlist,
    capacities,
    plans,
    worker,
    unconfirmed,
    uses,
    clusters: new ClustersService(options),
    lifecycle: new ClusterLifecycleService({ ...serviceParts, capacity: capacities.own }),
    scaling: new ClusterScaleService({ ...serviceParts, capacities }),
    databaseUsers,
    ready: new ReadyClusters({ nodes, operations }),
    authenticator: new TokenAuthenticator({ ...options, tokens, uses, limit, versions }),
  };
}

/** Stops the HTTP server first, then the components that work for its requests, and closes the database last. */
async function stopAll(
  { clock, provisioner, store }: CloudOptions,
  api: Cloud['api'],
  { allowlist, unconfirmed, uses, worker }: ReturnType<typeof partsOf>,
): Promise<void> {
  // Give requests in progress a limited time: one that never arrives completely would block the stop.
  const timer = clock.after(drainTimeoutMs, () => api.server.closeAllConnections());
  await api.close();
  timer.cancel();
  await worker.stop();
  await allowlist.stop();
  await unconfirmed.stop();
  await uses.stop();
  await provisioner.close();
  await store.destroy();
}

/** Issues the token of this start, after it has revoked that of the start before, and deleted those of earlier ones and of servers that are gone. */
async function startTokenOf(tokens: TokenStore, home: string): Promise<NewToken> {
  const origin = startOrigin(home);
  await tokens.deleteRevoked(origin);
  await tokens.revoke({ origin });
  await tokens.deleteAbandonedStarts(origin);
  return await tokens.issue({ role: 'organizationOwner', projectId: null, origin, expiresAt: null });
}

interface OperationParts {
  readonly tenantId: string;
  readonly clusters: ClustersService;
  readonly lifecycle: ClusterLifecycleService;
  readonly scaling: ClusterScaleService;
  readonly nodes: ClusterNodes;
  readonly ready: ReadyClusters;
  readonly databaseUsers: DatabaseUsersService;
  readonly allowlist: AllowlistService;
  readonly plans: OperationRouteParts['plans'];
}

/** The operations of the API with their handlers, by the object that they are about. */
function boundOperations(options: CloudOptions, parts: OperationParts): BoundOperation[] {
  const { tenantId, clusters, lifecycle, scaling, nodes, ready, databaseUsers, allowlist, plans } = parts;
  const { store } = options;
  return [
    ...statusOperations,
    ...callerOperations,
    ...cloudOperations({ ...options, tenantId }),
    ...projectOperations(new ProjectsService(options), tenantId),
    ...organizationUserOperations(store),
    ...v2ClusterOperations({ ...options, clusters, lifecycle, nodes, tenantId }),
    ...v3ClusterOperations({ ...options, clusters, lifecycle, scaling, nodes, ready, tenantId }),
    ...bucketOperations(ready, databaseUsers),
    ...databaseUserOperations(ready, databaseUsers),
    ...allowlistOperations(ready, allowlist),
    ...healthOperations(nodes),
    ...operationOperations({ ...options, plans }),
  ];
}
