// Statistics of buckets by the old paths, from the node's own time series.
import { refuse } from '#contract/errors.ts';
import { type BoundRoute, bind, type Context, type Form, reply } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import type { Moments } from '../nodes/moments.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import { bucketFigures } from './bucket-figures.ts';
import { type BucketSeries, BucketSeriesReader, isZoom, type SeriesReaderDeps } from './bucket-series.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';

/** Whatever the zoom. */
const intervalMs = 1_000;

interface BucketStatsDeps extends SeriesReaderDeps {
  service: BucketsService;
  moments: Moments;
}

interface ShownSeries extends BucketSeries {
  /** Whether the bucket keeps its documents on disk. */
  isPersistent: boolean;
}

export function bucketStatsRoutes({ service, moments, ...deps }: BucketStatsDeps): BoundRoute[] {
  const reader = new BucketSeriesReader(deps);
  const bucketOf = (params: Readonly<Record<string, string>>) => service.find(params['bucket'] as string);
  const addressOf = (context: Context) => nodeAddress(moments.still(context));
  const knownNode = (params: Readonly<Record<string, string>>, context: Context) => {
    if (params['node'] !== addressOf(context)) throw refuse.notFound();
    return params['node'];
  };
  const seriesOf = async (
    params: Readonly<Record<string, string>>,
    query: Form,
    figure: string | null = null,
  ): Promise<ShownSeries> => {
    const { name, type } = bucketOf(params);
    const zoom = query['zoom'] ?? 'minute';
    if (!isZoom(zoom)) throw refuse.text('incorrect zoom value');
    const isForChart = query['resampleForUI'] !== undefined;
    const afterMs = momentOf(query['haveTStamp']);
    const series = await reader.read(name, { zoom, isForChart, figure, afterMs });
    return { ...series, isPersistent: type === 'native' };
  };
  const nodeUri = (bucket: string, node: string) => `${bucketUri(bucket)}/nodes/${encodeURIComponent(node)}`;
  return [
    bind(contract.ListBucketNodes, ({ params }, context) => {
      const uri = nodeUri(bucketOf(params).name, addressOf(context));
      return reply.json({ servers: [{ hostname: addressOf(context), uri, stats: { uri: `${uri}/stats` } }] });
    }),
    bind(contract.GetBucketNode, ({ params }, context) => {
      const { name } = bucketOf(params);
      const hostname = knownNode(params, context);
      const stats = { uri: `${nodeUri(name, hostname)}/stats` };
      return reply.json({ hostname, bucket: { uri: bucketUri(name) }, stats });
    }),
    bind(contract.BucketStats, async ({ params, query }) =>
      reply.json({ op: opOf(await seriesOf(params, query)) }),
    ),
    bind(contract.BucketNodeStats, async ({ params, query }, context) => {
      const hostname = knownNode(params, context);
      return reply.json({ hostname, op: opOf(await seriesOf(params, query)) });
    }),
    bind(contract.BucketStat, async ({ params, query }, context) => {
      const name = params['stat'] as string;
      const series = await seriesOf(params, query, name);
      const nodeStats = { [addressOf(context)]: series.figures[name] ?? [] };
      return reply.json({ ...headOf(series), timestamp: series.timesMs, nodeStats });
    }),
    ...[contract.StatsDirectory, contract.NamedStatsDirectory].map((route) =>
      bind(route, ({ params }) => {
        bucketOf(params);
        const stats = Object.keys(bucketFigures).map((name) => ({ name }));
        return reply.json({ blocks: [{ blockName: 'Bucket', stats }] });
      }),
    ),
  ];
}

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

/** What is not a moment is as good as none. */
function momentOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : 0;
}
