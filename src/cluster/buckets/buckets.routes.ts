// Maps requests about buckets to the service, and its results to records.
import { type BoundRoute, bind, type Context, type Form, type Params, reply } from '#contract/route.ts';
import { bucketServers } from '../bootstrap/terse-config.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { Product } from '../config/product.ts';
import { textStream } from '../config/text-stream.ts';
import { type NodeSnapshot, type StableNodeSnapshot, storageTotals } from '../nodes/node-record.ts';
import type { NodeSnapshots } from '../nodes/node-snapshots.ts';
import type { Peers } from '../peers/peers.ts';
import { bucketRefusals } from '../refusals/buckets.refusals.ts';
import type { SeriesReaderDeps } from './bucket-series.ts';
import { bucketStatsRoutes } from './bucket-stats.routes.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';
import { PreparedRecords } from './prepared-records.ts';

export interface BucketRoutesDeps extends SeriesReaderDeps {
  service: BucketsService;
  view: ClusterView;
  data: DataService;
  snapshots: NodeSnapshots;
  product: Product;
  peers: Pick<Peers, 'ask' | 'answer'>;
}

/** Whether the answer includes figures of the whole cluster, which need those of all buckets. */
const hasTotals = (query: Form): boolean => query['basic_stats'] !== undefined;
const isOn = (query: Form, name: string): boolean => query[name] === '1';

export function bucketRoutes(deps: BucketRoutesDeps): BoundRoute[] {
  return [...changes(deps), ...reads(deps), ...compactions(deps), ...bucketStatsRoutes(deps)];
}

function changes({ service }: BucketRoutesDeps): BoundRoute[] {
  return [
    bind(contract.CreateBucket, async ({ body, query }) => {
      const ignoreWarnings = isOn(query, 'ignore_warnings');
      if (isOn(query, 'just_validate'))
        return validationReply(await service.validateNew(body, ignoreWarnings), 200);
      const { name } = await service.create(body, ignoreWarnings);
      return reply.empty(202, { Location: `/pools/default/buckets/${encodeURIComponent(name)}` });
    }),
    bind(contract.EditBucket, async ({ params, body, query }) => {
      const ignoreWarnings = isOn(query, 'ignore_warnings');
      if (isOn(query, 'just_validate')) {
        const validation = await service.validateChange(nameIn(params), body, ignoreWarnings);
        // The statuses of published servers.
        return validationReply(validation, ignoreWarnings ? 200 : 202);
      }
      await service.edit(nameIn(params), body, ignoreWarnings);
      return reply.empty();
    }),
    bind(contract.DeleteBucket, async ({ params }) => {
      await service.remove(nameIn(params));
      return reply.empty();
    }),
    bind(contract.FlushBucket, async ({ params }) => {
      await service.flush(nameIn(params));
      return reply.empty();
    }),
  ];
}

const nameIn = (params: Params): string => params['bucket'] as string;

function validationReply(
  validation: { fields: Record<string, string>; summaries: unknown },
  statusIfValid: number,
) {
  const isWrong = Object.keys(validation.fields).length > 0;
  const value = { ...validation.fields, errors: validation.fields, summaries: validation.summaries };
  return reply.json(value, isWrong ? 400 : statusIfValid);
}

function reads({ service, view, data, snapshots, product }: BucketRoutesDeps): BoundRoute[] {
  const enterprise = product.edition === 'enterprise';
  const records = new PreparedRecords();
  const inputOf = <Snapshot extends StableNodeSnapshot>(bucket: StoredBucket, all: readonly Snapshot[]) => {
    const { uuid } = bucket;
    const servers = bucketServers(view, bucket);
    const serving = servers.flatMap((server) => all.find(({ node }) => node === server) ?? []);
    const manifestUid = view.manifest(uuid).uid;
    return { bucket, manifestUid, map: view.map(uuid), snapshots: serving, enterprise };
  };
  const textOf = (bucket: StoredBucket, all: readonly NodeSnapshot[], query: Form) => {
    const totals = hasTotals(query) ? storageTotals(all, view.buckets) : null;
    return records.textOf(inputOf(bucket, all), totals, query['skipMap'] === 'true');
  };
  const streamed = (uuid: string, context: Context) => {
    const bucket = view.liveBucketOf(uuid);
    if (!bucket) return null;
    return records.streamedText(inputOf(bucket, snapshots.allStable(context, uuid)));
  };
  return [
    bind(contract.ListBuckets, async ({ query }, context) => {
      const all = await snapshots.all(context);
      const visible = service
        .list()
        .filter(({ name }) => context.may(`cluster.bucket[${name}].settings!read`));
      return reply.jsonText(`[${visible.map((bucket) => textOf(bucket, all, query)).join(',')}]`);
    }),
    bind(contract.GetBucket, async ({ params, query }, context) => {
      const { uuid } = service.find(nameIn(params));
      const all = await snapshots.all(context, hasTotals(query) ? undefined : uuid);
      // Found again: the bucket may have changed during the wait for the figures.
      return reply.jsonText(textOf(service.find(nameIn(params)), all, query));
    }),
    bind(contract.StreamBucket, ({ params }, context) => {
      const { uuid } = service.find(nameIn(params));
      return reply.jsonTexts((signal) => textStream([view, data], () => streamed(uuid, context), signal));
    }),
    bind(contract.RandomKey, async ({ params }) => {
      const key = await data.randomKey(service.find(nameIn(params)).name);
      if (key === null) throw bucketRefusals.noRandomKey();
      return reply.json({ ok: true, key });
    }),
    bind(contract.ListDesignDocuments, ({ params }) => {
      service.find(nameIn(params));
      return reply.json({ rows: [] });
    }),
  ];
}

function compactions({ service }: BucketRoutesDeps): BoundRoute[] {
  const actions = [
    [contract.CompactBucket, (name: string) => service.compact(name, 'bucket')],
    [contract.CompactDatabases, (name: string) => service.compact(name, 'databases')],
    [contract.PurgeBucket, (name: string) => service.compact(name, 'bucket', 'all')],
    [contract.CancelBucketCompaction, (name: string) => service.cancelCompaction(name, 'bucket')],
    [contract.CancelDatabasesCompaction, (name: string) => service.cancelCompaction(name, 'databases')],
  ] as const;
  return [
    ...actions.map(([route, act]) =>
      bind(route, async ({ params }) => {
        await act(nameIn(params));
        return reply.empty();
      }),
    ),
    bind(contract.StartRecovery, () => {
      throw bucketRefusals.noRecovery();
    }),
  ];
}
