// Statistics of buckets under the old paths, from the node's own time series.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, type Params, reply } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import type { NodeSnapshots } from '../nodes/node-snapshots.ts';
import { bucketRefusals } from '../refusals/buckets.refusals.ts';
import { bucketFigures } from './bucket-figures.ts';
import { type BucketSeries, BucketSeriesReader, isZoom, type SeriesReaderDeps } from './bucket-series.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';

/** The published interval, the same for every zoom. */
const intervalMs = 1_000;

interface BucketStatsDeps extends SeriesReaderDeps {
  service: BucketsService;
  snapshots: NodeSnapshots;
}

interface ShownSeries extends BucketSeries {
  /** Whether the bucket keeps its documents on disk. */
  isPersistent: boolean;
}

export const bucketStatsRoutes = (deps: BucketStatsDeps): BoundRoute[] => [
  ...nodeLinks(deps),
  ...seriesRoutes(deps),
  ...directories(deps),
];

const bucketOf = ({ service }: BucketStatsDeps, params: Params) => service.find(params['bucket'] as string);
const addressOf = ({ snapshots }: BucketStatsDeps, context: Context) =>
  nodeAddress(snapshots.stable(context));

function knownNode(deps: BucketStatsDeps, params: Params, context: Context): string {
  const address = addressOf(deps, context);
  if (params['node'] !== address) throw generalRefusals.notFound();
  return address;
}

function nodeLinks(deps: BucketStatsDeps): BoundRoute[] {
  const nodeUri = (bucket: string, node: string) => `${bucketUri(bucket)}/nodes/${encodeURIComponent(node)}`;
  return [
    bind(contract.ListBucketNodes, ({ params }, context) => {
      const hostname = addressOf(deps, context);
      const uri = nodeUri(bucketOf(deps, params).name, hostname);
      return reply.json({ servers: [{ hostname, uri, stats: { uri: `${uri}/stats` } }] });
    }),
    bind(contract.GetBucketNode, ({ params }, context) => {
      const { name } = bucketOf(deps, params);
      const hostname = knownNode(deps, params, context);
      const stats = { uri: `${nodeUri(name, hostname)}/stats` };
      return reply.json({ hostname, bucket: { uri: bucketUri(name) }, stats });
    }),
  ];
}

function seriesRoutes(deps: BucketStatsDeps): BoundRoute[] {
  const reader = new BucketSeriesReader(deps);
  const seriesOf = async (
    params: Params,
    query: Form,
    figure: string | null = null,
  ): Promise<ShownSeries> => {
    const { name, type } = bucketOf(deps, params);
    const zoom = query['zoom'] ?? 'minute';
    if (!isZoom(zoom)) throw bucketRefusals.unknownZoom();
    const isForChart = query['resampleForUI'] !== undefined;
    const afterMs = timestampOf(query['haveTStamp']);
    const series = await reader.read(name, { zoom, isForChart, figure, afterMs });
    return { ...series, isPersistent: type === 'native' };
  };
  return [
    bind(contract.BucketStats, async ({ params, query }) =>
      reply.json({ op: opOf(await seriesOf(params, query)) }),
    ),
    bind(contract.BucketNodeStats, async ({ params, query }, context) => {
      const hostname = knownNode(deps, params, context);
      return reply.json({ hostname, op: opOf(await seriesOf(params, query)) });
    }),
    bind(contract.BucketStat, async ({ params, query }, context) => {
      const name = params['stat'] as string;
      const series = await seriesOf(params, query, name);
      const nodeStats = { [addressOf(deps, context)]: series.figures[name] ?? [] };
      return reply.json({ ...headOf(series), timestamp: series.timesMs, nodeStats });
    }),
  ];
}

const directories = (deps: BucketStatsDeps): BoundRoute[] =>
  [contract.StatsDirectory, contract.NamedStatsDirectory].map((route) =>
    bind(route, ({ params }) => {
      bucketOf(deps, params);
      const stats = Object.keys(bucketFigures).map((name) => ({ name }));
      return reply.json({ blocks: [{ blockName: 'Bucket', stats }] });
    }),
  );

const headOf = ({ timesMs, isPersistent }: ShownSeries) => ({
  samplesCount: timesMs.length,
  isPersistent,
  lastTStamp: timesMs.at(-1) ?? 0,
  interval: intervalMs,
});

const opOf = (series: ShownSeries) => ({
  samples: { ...series.figures, timestamp: series.timesMs },
  ...headOf(series),
});

/** An invalid timestamp counts as absent. */
function timestampOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : 0;
}
