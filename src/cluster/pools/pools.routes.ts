// Handlers that describe the cluster.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { AlertList } from '../alerts/alert-list.ts';
import type { AlertKind } from '../alerts/alert-settings.ts';
import { nodeServices, terseBucketConfig } from '../bootstrap/terse-config.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { Product } from '../config/product.ts';
import { textStream } from '../config/text-stream.ts';
import { TextsUntilChange } from '../config/texts-until-change.ts';
import { type ChangeNotifier, until } from '../config/until.ts';
import type { LogCollection } from '../log-collection/log-collection.ts';
import { nodeStatus } from '../nodes/node-record.ts';
import type { NodeSnapshots } from '../nodes/node-snapshots.ts';
import { progressAnswer } from '../orchestrator/rebalance-report.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { EncryptionLevel } from '../security/security-state.ts';
import { mappedText } from '../topology/vbucket-map.ts';
import { alerts, poolRecord, poolsRecord, streamedPool, versions } from './pool-record.ts';
import * as contract from './pools.contract.ts';
import { tasks } from './tasks.ts';
import { terseClusterInfo } from './terse-cluster.ts';

export interface PoolRoutesDeps {
  view: ClusterView;
  data: DataService;
  snapshots: NodeSnapshots;
  /** Notifies when another node starts or stops answering. */
  nodeFigures: ChangeNotifier;
  product: Product;
  clock: Clock;
  isProvisioned: () => boolean;
  /** The encryption level of traffic between nodes; null while it is not encrypted. */
  security: ChangeNotifier & { readonly encryptionLevel: EncryptionLevel | null };
  certificates: { readonly clientAuth: { readonly value: { readonly state: string } } };
  /** Raised alerts, and the kinds that consoles show in a window. */
  alertList: AlertList;
  alerts: { read(): Promise<{ popUps: readonly AlertKind[] }> };
  logCollection: Pick<LogCollection, 'state'>;
  xdcr: { tasks(): Promise<Record<string, unknown>[]> };
  samples: { tasks(): Record<string, unknown>[] };
  backupTasks?: () => readonly Record<string, unknown>[];
  orchestration: { readonly orchestrator: string | null };
  /** Sentences for `alerts` in addition to those of the buckets. */
  warnings: () => readonly string[];
}

/** The maximum wait of a long poll. */
const waitMsMax = 300_000;

export const poolRoutes = (deps: PoolRoutesDeps): BoundRoute[] => [
  ...versionRoutes(deps),
  ...poolReads(deps),
  ...bootstrapRoutes(deps),
  ...taskRoutes(deps),
];

function versionRoutes({ view, product, isProvisioned }: PoolRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetPools, () => reply.json(poolsRecord(view, isProvisioned(), product))),
    bind(contract.GetVersions, () => reply.json(versions(product))),
  ];
}

function poolReads(deps: PoolRoutesDeps): BoundRoute[] {
  const { view, data, snapshots, clock, security, nodeFigures } = deps;
  const pools = new TextsUntilChange(view);
  const visible = (context: Context) =>
    view.liveBuckets().filter(({ name }) => context.may(`cluster.bucket[${name}].settings!read`));
  const etag = (context: Context) =>
    [view.latestRevision(), ...snapshots.allStable(context).map(nodeStatus)].join('-');
  const pool = async (query: Form, context: Context) => {
    refuseUnprovisioned(deps);
    const waitMs = waitOf(query);
    if (waitMs > 0) {
      const changed = () => etag(context) !== query['etag'];
      await until(anyOf(view, data, nodeFigures), changed, waitMs, clock, context.signal);
    }
    const nodes = await snapshots.all(context);
    const { alertList: list, alerts: service } = deps;
    const { popUps } = await service.read();
    const currentAlerts = alerts(nodes, deps.warnings(), list.all(), popUps, clock.wallMs());
    return reply.json({
      etag: etag(context),
      ...poolRecord(view, nodes, visible(context), security.encryptionLevel, currentAlerts, list.token),
    });
  };
  return [
    bind(contract.GetPool, ({ query }, context) => pool(query, context)),
    bind(contract.GetPoolNodes, ({ query }, context) => pool(query, context)),
    bind(contract.StreamPool, (_, context) => {
      const read = () => {
        const nodes = snapshots.allStable(context);
        const buckets = visible(context);
        const { encryptionLevel } = security;
        const facts = nodes.map((node) => [nodeStatus(node), node.version, node.os]);
        const names = buckets.map(({ name }) => name);
        const key = JSON.stringify([context.local.address, encryptionLevel, facts, names]);
        return pools.text(key, () => JSON.stringify(streamedPool(view, nodes, buckets, encryptionLevel)));
      };
      return reply.jsonTexts((signal) => textStream([view, data, security, nodeFigures], read, signal));
    }),
    bind(contract.GetTerseCluster, ({ query }) => {
      refuseUnprovisioned(deps);
      const clientCertAuthState = deps.certificates.clientAuth.value.state;
      const { orchestrator } = deps.orchestration;
      return reply.json(terseClusterInfo({ view, clientCertAuthState, orchestrator }, query));
    }),
  ];
}

function refuseUnprovisioned({ isProvisioned }: PoolRoutesDeps): void {
  if (!isProvisioned()) throw nodeRefusals.unknownPool();
}

const waitOf = (query: Form): number => {
  const sent = query['waitChange'] ?? '';
  return query['etag'] !== undefined && /^\d{1,9}$/.test(sent) ? Math.min(Number(sent), waitMsMax) : 0;
};

const anyOf = (...sources: Pick<ClusterView, 'onChange'>[]): Pick<ClusterView, 'onChange'> => ({
  onChange(listener) {
    const subscriptions = sources.map((source) => source.onChange(listener));
    return {
      stop() {
        for (const subscription of subscriptions) subscription.stop();
      },
    };
  },
});

function bootstrapRoutes({ view, data }: PoolRoutesDeps): BoundRoute[] {
  const configs = new TextsUntilChange(view);
  const services = new TextsUntilChange(view);
  const terse = (bucket: StoredBucket): string =>
    configs.text(bucket.uuid, () => mappedText(terseBucketConfig(view, bucket)));
  const servicesText = () => services.text('', () => JSON.stringify(nodeServices(view)));
  const found = (name: string | undefined): StoredBucket => {
    const bucket = view.liveBucket(name ?? '');
    if (bucket === undefined) throw generalRefusals.notFound();
    return bucket;
  };
  return [
    bind(contract.GetNodeServices, () => reply.jsonText(servicesText())),
    bind(contract.StreamNodeServices, () =>
      reply.jsonTexts((signal) => textStream([view], servicesText, signal)),
    ),
    bind(contract.GetTerseBucket, ({ params }) => reply.jsonText(terse(found(params['bucket'])))),
    bind(contract.StreamTerseBucket, ({ params }) => {
      const { uuid } = found(params['bucket']);
      const read = () => {
        const bucket = view.liveBucketOf(uuid);
        return bucket === undefined ? null : terse(bucket);
      };
      return reply.jsonTexts((signal) => textStream([view, data], read, signal));
    }),
  ];
}

function taskRoutes({
  view,
  snapshots,
  logCollection,
  xdcr,
  samples,
  backupTasks,
}: PoolRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetTasks, async ({ query }, context) => {
      const nodes = await snapshots.all(context);
      const ofServices = [...samples.tasks(), ...(await xdcr.tasks()), ...(backupTasks?.() ?? [])];
      return reply.json(tasks(view, nodes, query, logCollection.state, ofServices));
    }),
    bind(contract.GetRebalanceProgress, () => reply.json(progressAnswer(view))),
  ];
}
