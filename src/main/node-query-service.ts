// Runs the query service in a node: starts its thread, sends it the state of the node, and gives it access to the data port.
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import type { Authority } from '#auth/authority.ts';
import { urlHost } from '#base/host-and-port.ts';
import type { NodePorts } from '#cluster/config/cluster-state.ts';
import type { IndexDefinitions } from '#index/index.contract.ts';
import { IndexLinks, type IndexLinksOptions } from '#index/link/index-links.host.ts';
import type { KvAdmin, KvDesired } from '#kv/admin.ts';
import type { MetricSample } from '#metrics/sample.ts';
import { realClock } from '#ports/clock.ts';
import { codeFile } from '#ports/code-place.ts';
import type { Log } from '#ports/log.ts';
import type { TlsSpec } from '#ports/tls.ts';
import { within } from '#ports/within.ts';
import { startWorker } from '#ports/worker.ts';
import type { AuditedStatement, StatementAuditing } from '#query/audit.contract.ts';
import type { QueryPorts, QueryReport, QueryStart, QueryState } from '#query/host/query-messages.ts';
import { queryMetrics } from '#query/host/query-metrics.ts';
import { WorkerQuery, type WorkerQueryOptions } from '#query/host/worker-query.ts';
import type {
  CurlAllowlist,
  FunctionDefinitions,
  FunctionLibraries,
  OtherQueryNodes,
  OwnQueryNode,
  QueryNodeDescription,
  StatisticsStore,
} from '#query/query.contract.ts';
import { clusterLayoutOf } from './cluster-layout.ts';
import { indexFolder } from './membership-file.ts';
import type { NodeOptions } from './node-options.ts';
import type { OwnServices } from './own-services.ts';

export interface NodeQueryServiceOptions {
  readonly options: NodeOptions;
  readonly authority: () => Authority;
  readonly definitions: {
    readonly indexes: IndexDefinitions;
    readonly indexNodes: IndexLinksOptions['indexNodes'];
    readonly functions: FunctionDefinitions;
    readonly libraries: FunctionLibraries;
    readonly queryNodes: ClusterQueryNodes;
    readonly statistics: StatisticsStore;
  };
  readonly services: OwnServices;
  readonly audited: (statement: AuditedStatement) => void;
  readonly loginRefused: WorkerQueryOptions['loginRefused'];
  readonly permissionRefused: WorkerQueryOptions['permissionRefused'];
  readonly kv: Pick<KvAdmin, 'serveBatches'>;
  readonly log: Log;
  readonly onLost: (reason: Error) => void;
}

export interface QueryStartEnvironment extends QueryEnvironment {
  readonly planned: QueryStart['planned'];
}

export interface QueryEnvironment {
  readonly tls: TlsSpec | null;
  readonly plainForThisMachineOnly: boolean;
  /** Addresses and networks from which connections are accepted; null: all. */
  readonly clients: readonly string[] | null;
}

export interface ClusterQueryNodes extends OtherQueryNodes {
  all(): readonly QueryNodeDescription[];
  serve(own: OwnQueryNode): void;
}

/** Sent with each new state of the node. */
export interface QueryNode extends QueryEnvironment {
  readonly ports: NodePorts;
  readonly version: string;
  readonly settings: Record<string, unknown>;
  readonly curl: CurlAllowlist;
  readonly audit: StatementAuditing;
}

const reportTimeoutMs = 2_000;
/**
 * The size of the young generation, which V8 allocates as needed. Rows live for one batch: with the default of other threads a third of a
 * query's time was garbage collection.
 */
const youngMb = 48;

export class NodeQueryService {
  private readonly deps: NodeQueryServiceOptions;
  private readonly worker: WorkerQuery;
  private readonly links: IndexLinks;
  private reporting: Promise<QueryReport> | null = null;

  constructor(deps: NodeQueryServiceOptions) {
    this.deps = deps;
    const { definitions, services } = deps;
    this.links = new IndexLinks({
      definitions: definitions.indexes,
      indexNodes: definitions.indexNodes,
      indexAdmin: services.index,
      damaged: (bucketUuid, indexId) => services.index.replaceFile(bucketUuid, indexId),
    });
    this.worker = new WorkerQuery({
      ...deps,
      clock: realClock,
      functions: definitions.functions,
      libraries: definitions.libraries,
      statistics: definitions.statistics,
      otherNodes: definitions.queryNodes,
      indexPort: () => this.links.connect(),
      startThread: () =>
        startWorker(codeFile('main/query-thread'), {
          name: 'query service',
          resourceLimits: { maxYoungGenerationSizeMb: youngMb },
        }),
    });
    definitions.queryNodes.serve({
      rows: (keyspace, after) => this.worker.rows(keyspace, after),
      prepared: (name, queryContext) => this.worker.prepared(name, queryContext),
      discardPrepared: (replaced) => this.worker.discardPrepared(replaced),
      remove: (keyspace, ids) => this.worker.removeRows(keyspace, ids),
      caughtUp: async () => void (await this.report()), // the thread answers in order, after the definitions that it was sent
    });
  }

  async start(environment: QueryStartEnvironment): Promise<QueryPorts> {
    const { options, kv } = this.deps;
    const { port1: dataEnd, port2: queryEnd } = new MessageChannel();
    await kv.serveBatches(dataEnd);
    const started: QueryStart = {
      host: options.host,
      port: options['query-port'],
      tlsPort: options['query-tls-port'],
      dataFolder: options['data-dir'],
      sequentialScans: options['query-sequential-scans'] === 'on',
      edition: options.edition,
      indexFolder: join(options['data-dir'], indexFolder),
      ...environment,
    };
    return await this.worker.start(started, queryEnd);
  }

  /** Call before the data service gets buckets: a node that has none yet, but is known to clients, must not say that they do not exist. */
  expect({ buckets }: KvDesired): void {
    if (buckets.length > 0) this.worker.expect(buckets.map(({ name }) => name));
  }

  /** Resolves when the query service knows the buckets and collections of the data service. */
  async follow(desired: KvDesired, node: QueryNode): Promise<void> {
    const { ports, version, tls, plainForThisMachineOnly, clients, settings, curl, audit } = node;
    const data = await this.deps.services.access();
    const { host, localAddress } = data.address;
    const nodes = this.deps.definitions.queryNodes.all();
    const rest = `${urlHost(host)}:${ports.mgmt}`;
    // Other nodes know this one by the name in the configuration; a node that is alone may have no name there.
    const isAlone = nodes.length < 2;
    const named = isAlone ? nodes.map((node) => ({ ...node, name: rest })) : nodes;
    const ownName = nodes.find(({ isThis }) => isThis && !isAlone)?.name ?? rest;
    await this.worker.follow({
      buckets: desired.buckets.map(bucketState),
      tls,
      plainForThisMachineOnly,
      clients,
      settings,
      curl,
      audit,
      functions: this.deps.definitions.functions.all(),
      data: { address: { ...data.address, localAddress }, account: data.account },
      cluster: clusterLayoutOf(desired),
      rest: { host, port: ports.mgmt, localAddress },
      node: { name: ownName, host: rest, version, datastoreUrl: `http://${rest}`, nodes: named },
    });
  }

  report(): Promise<QueryReport> {
    return this.worker.report();
  }

  /** @throws Error when the thread is too busy to answer in time */
  async metrics(): Promise<Iterable<MetricSample>> {
    this.reporting ??= this.report().finally(() => {
      this.reporting = null;
    });
    const report = await within(
      realClock,
      reportTimeoutMs,
      this.reporting,
      () => new Error(`the query thread did not report in ${reportTimeoutMs} ms`),
    );
    return queryMetrics(report);
  }

  async stop(): Promise<void> {
    await this.worker.stop();
    this.links.stop();
  }
}

const bucketState = ({
  name,
  uuid,
  incarnation,
  type,
  manifest,
}: KvDesired['buckets'][number]): QueryState['buckets'][number] => ({
  name,
  uuid,
  incarnation,
  type,
  scopes: manifest.scopes,
});
