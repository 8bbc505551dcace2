// Statistics of buckets under the old paths, from the time series of this node or of a named one.
import { UnavailableError } from '#base/unavailable-error.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, type Params, reply } from '#contract/route.ts';
import { bucketUri } from '../bootstrap/terse-config.ts';
import { nodeAddress, type StableNodeSnapshot } from '../nodes/node-record.ts';
import type { NodeSnapshots } from '../nodes/node-snapshots.ts';
import type { Peers } from '../peers/peers.ts';
import { bucketRefusals } from '../refusals/buckets.refusals.ts';
import { bucketFigures } from './bucket-figures.ts';
import {
  type BucketSeries,
  BucketSeriesReader,
  isZoom,
  type SeriesChoice,
  type SeriesReaderDeps,
} from './bucket-series.ts';
import * as contract from './buckets.contract.ts';
import type { BucketsService } from './buckets.service.ts';

/** The published interval, the same for every zoom. */
const intervalMs = 1_000;
/** Of a read of another node's series. */
const askTimeoutMs = 10_000;

interface BucketStatsDeps extends SeriesReaderDeps {
  service: Pick<BucketsService, 'find'>;
  snapshots: Pick<NodeSnapshots, 'stable' | 'allStable'>;
  peers: Pick<Peers, 'ask' | 'answer'>;
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

const activeNodes = ({ snapshots }: BucketStatsDeps, context: Context): StableNodeSnapshot[] =>
  snapshots.allStable(context).filter(({ node }) => node.membership === 'active');

function namedNode(deps: BucketStatsDeps, params: Params, context: Context): StableNodeSnapshot {
  const found = activeNodes(deps, context).find((node) => nodeAddress(node) === params['node']);
  if (found === undefined) throw generalRefusals.notFound();
  return found;
}

function nodeLinks(deps: BucketStatsDeps): BoundRoute[] {
  const nodeUri = (bucket: string, node: string) => `${bucketUri(bucket)}/nodes/${encodeURIComponent(node)}`;
  return [
    bind(contract.ListBucketNodes, ({ params }, context) => {
      const { name } = bucketOf(deps, params);
      const servers = activeNodes(deps, context).map((node) => {
        const hostname = nodeAddress(node);
        const uri = nodeUri(name, hostname);
        return { hostname, uri, stats: { uri: `${uri}/stats` } };
      });
      return reply.json({ servers });
    }),
    bind(contract.GetBucketNode, ({ params }, context) => {
      const { name } = bucketOf(deps, params);
      const hostname = nodeAddress(namedNode(deps, params, context));
      const stats = { uri: `${nodeUri(name, hostname)}/stats` };
      return reply.json({ hostname, bucket: { uri: bucketUri(name) }, stats });
    }),
  ];
}

/** What one node asks another one for. */
interface SeriesRequest {
  bucket: string;
  choice: SeriesChoice;
}

function seriesRoutes(deps: BucketStatsDeps): BoundRoute[] {
  const reader = new BucketSeriesReader(deps);
  const read = ({ bucket, choice }: SeriesRequest) => reader.read(bucket, choice);
  deps.peers.answer('bucketSeries', read);
  const seriesOf = async (
    params: Params,
    query: Form,
    figure: string | null = null,
    from: (request: SeriesRequest) => Promise<BucketSeries> = read,
  ): Promise<ShownSeries> => {
    const { name, type } = bucketOf(deps, params);
    const zoom = query['zoom'] ?? 'minute';
    if (!isZoom(zoom)) throw bucketRefusals.unknownZoom();
    const isForChart = query['resampleForUI'] !== undefined;
    const afterMs = timestampOf(query['haveTStamp']);
    const series = await from({ bucket: name, choice: { zoom, isForChart, figure, afterMs } });
    return { ...series, isPersistent: type === 'native' };
  };
  return [
    bind(contract.BucketStats, async ({ params, query }) =>
      reply.json({ op: opOf(await seriesOf(params, query)) }),
    ),
    bind(contract.BucketNodeStats, async ({ params, query }, context) => {
      const named = namedNode(deps, params, context);
      const from = named.isThis ? read : (request: SeriesRequest) => askForSeries(deps, named, request);
      const series = await seriesOf(params, query, null, from);
      return reply.json({ hostname: nodeAddress(named), op: opOf(series) });
    }),
    bind(contract.BucketStat, async ({ params, query }, context) => {
      const name = params['stat'] as string;
      const series = await seriesOf(params, query, name);
      const nodeStats = { [addressOf(deps, context)]: series.figures[name] ?? [] };
      return reply.json({ ...headOf(series), timestamp: series.timesMs, nodeStats });
    }),
  ];
}

async function askForSeries(
  { peers }: BucketStatsDeps,
  { node }: StableNodeSnapshot,
  request: SeriesRequest,
): Promise<BucketSeries> {
  try {
    return await peers.ask<BucketSeries>(node.uuid, 'bucketSeries', request, askTimeoutMs);
  } catch (error) {
    throw new UnavailableError(`Node ${node.otpNode} does not answer: ${(error as Error).message}`);
  }
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
