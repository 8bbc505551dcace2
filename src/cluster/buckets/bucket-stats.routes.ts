// Statistics of buckets by the old paths. No samples are kept yet, so the series are empty, never invented.
import { refuse } from '#contract/errors.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import type { Moments } from '../nodes/moments.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';

const zooms = ['minute', 'hour', 'day', 'week', 'month', 'year'];
const intervalMs = 1_000;

const emptySeries = { samplesCount: 0, isPersistent: false, lastTStamp: 0, interval: intervalMs };

export function bucketStatsRoutes(deps: { service: BucketsService; moments: Moments }): BoundRoute[] {
  const { service, moments } = deps;
  const bucketOf = (params: Readonly<Record<string, string>>) => service.find(params['bucket'] as string);
  const addressOf = (context: Context) => nodeAddress(moments.still(context));
  const knownNode = (params: Readonly<Record<string, string>>, context: Context) => {
    if (params['node'] !== addressOf(context)) throw refuse.notFound();
    return params['node'];
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
    bind(contract.BucketStats, ({ params, query }) => {
      bucketOf(params);
      return reply.json(series(query['zoom']));
    }),
    bind(contract.BucketNodeStats, ({ params, query }, context) => {
      bucketOf(params);
      return reply.json({ hostname: knownNode(params, context), ...series(query['zoom']) });
    }),
    bind(contract.BucketStat, ({ params }, context) => {
      bucketOf(params);
      return reply.json({ ...emptySeries, timestamp: [], nodeStats: { [addressOf(context)]: [] } });
    }),
    ...[contract.StatsDirectory, contract.NamedStatsDirectory].map((route) =>
      bind(route, ({ params }) => {
        bucketOf(params);
        return reply.json({ blocks: [] });
      }),
    ),
  ];
}

function series(zoom: string | undefined) {
  if (zoom !== undefined && !zooms.includes(zoom)) throw refuse.text('incorrect zoom value');
  return { op: { samples: { timestamp: [] }, ...emptySeries } };
}
