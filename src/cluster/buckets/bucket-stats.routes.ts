// Statistics of buckets by the old paths: what was sampled in the last minute. Nothing older is kept, so other series are
// empty, never invented.
import { refuse } from '#contract/errors.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import type { DataService, SeriesPoint } from '../config/data-service.ts';
import type { Moments } from '../nodes/moments.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';

const zooms = ['minute', 'hour', 'day', 'week', 'month', 'year'];
const intervalMs = 1_000;

interface BucketStatsDeps {
  service: BucketsService;
  data: DataService;
  moments: Moments;
}

export function bucketStatsRoutes({ service, data, moments }: BucketStatsDeps): BoundRoute[] {
  const bucketOf = (params: Readonly<Record<string, string>>) => service.find(params['bucket'] as string);
  const addressOf = (context: Context) => nodeAddress(moments.still(context));
  const knownNode = (params: Readonly<Record<string, string>>, context: Context) => {
    if (params['node'] !== addressOf(context)) throw refuse.notFound();
    return params['node'];
  };
  const pointsOf = async (params: Readonly<Record<string, string>>, zoom = 'minute') => {
    const { uuid } = bucketOf(params);
    if (!zooms.includes(zoom)) throw refuse.text('incorrect zoom value');
    await data.refresh();
    return zoom === 'minute' ? (data.measured(uuid)?.series ?? []) : [];
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
      reply.json(seriesOf(await pointsOf(params, query['zoom']))),
    ),
    bind(contract.BucketNodeStats, async ({ params, query }, context) => {
      const hostname = knownNode(params, context);
      return reply.json({ hostname, ...seriesOf(await pointsOf(params, query['zoom'])) });
    }),
    bind(contract.BucketStat, async ({ params }, context) => {
      const name = params['stat'] as string;
      const points = (await pointsOf(params)).filter(({ figures }) => Object.hasOwn(figures, name));
      const samples = points.map(({ figures }) => figures[name]);
      const timestamp = points.map(({ atMs }) => atMs);
      return reply.json({ ...headOf(points), timestamp, nodeStats: { [addressOf(context)]: samples } });
    }),
    ...[contract.StatsDirectory, contract.NamedStatsDirectory].map((route) =>
      bind(route, ({ params }) => {
        bucketOf(params);
        return reply.json({ blocks: [] });
      }),
    ),
  ];
}

const headOf = (points: readonly SeriesPoint[]) => ({
  samplesCount: points.length,
  isPersistent: false,
  lastTStamp: points.at(-1)?.atMs ?? 0,
  interval: intervalMs,
});

function seriesOf(points: readonly SeriesPoint[]) {
  const samples: Record<string, number[]> = { timestamp: points.map(({ atMs }) => atMs) };
  for (const name of Object.keys(points.at(-1)?.figures ?? {})) {
    samples[name] = points.map(({ figures }) => figures[name] as number);
  }
  return { op: { samples, ...headOf(points) } };
}
