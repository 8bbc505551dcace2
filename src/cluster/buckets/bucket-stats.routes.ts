// Sample series of buckets and services, the older interface of statistics, from the time series of all nodes or of a named one.
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
import { alignedFigure, mergedSeries } from './merged-series.ts';
import { bucketSection, serviceSection } from './stats-sections.ts';

/** The published interval, the same for every zoom. */
const intervalMs = 1_000;
/** Limit for a read of another node's series. */
const askTimeoutMs = 10_000;
const readClusterStats = 'cluster.stats!read';

interface BucketStatsDeps extends SeriesReaderDeps {
  service: Pick<BucketsService, 'find'>;
  snapshots: Pick<NodeSnapshots, 'stable' | 'allStable'>;
  peers: Pick<Peers, 'ask' | 'answer'>;
}

interface ShownSeries extends BucketSeries {
  /** Whether the figures are those of a bucket that keeps its documents on disk. */
  isPersistent: boolean;
}

export const bucketStatsRoutes = (deps: BucketStatsDeps): BoundRoute[] => [
  ...nodeLinks(deps),
  ...seriesRoutes(deps),
  ...directories(deps),
];

const bucketOf = ({ service }: BucketStatsDeps, params: Params) => service.find(params['bucket'] as string);

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

/** The request of one node to another. */
interface SeriesRequest {
  /** The name of a section. Nodes of other versions send it as `bucket`, too. */
  bucket: string;
  choice: SeriesChoice;
}

function seriesRoutes(deps: BucketStatsDeps): BoundRoute[] {
  const reader = new BucketSeriesReader(deps);
  const ownSeries = ({ bucket, choice }: SeriesRequest) =>
    reader.read(serviceSection(bucket) ?? bucketSection(bucket), choice);
  deps.peers.answer('bucketSeries', ownSeries);
  const seriesOf = (node: StableNodeSnapshot, request: SeriesRequest): Promise<BucketSeries> =>
    node.isThis ? ownSeries(request) : askForSeries(deps, node, request);
  return [
    bind(contract.BucketStats, async ({ params, query }, context) => {
      const { request, isPersistent } = seriesRequestOf(deps, params, query, context);
      const series = mergedSeries(
        (await seriesOfActiveNodes(deps, context, (node) => seriesOf(node, request))).map(
          ({ series }) => series,
        ),
      );
      return reply.json({ op: opOf({ ...series, isPersistent }) });
    }),
    bind(contract.BucketNodeStats, async ({ params, query }, context) => {
      const node = namedNode(deps, params, context);
      const { request, isPersistent } = seriesRequestOf(deps, params, query, context);
      const series = await seriesOf(node, request);
      return reply.json({ hostname: nodeAddress(node), op: opOf({ ...series, isPersistent }) });
    }),
    bind(contract.BucketStat, async ({ params, query }, context) => {
      const name = params['stat'] as string;
      const { request, isPersistent } = seriesRequestOf(deps, params, query, context, name);
      const answers = await seriesOfActiveNodes(deps, context, (node) => seriesOf(node, request));
      const { timesMs } = mergedSeries(answers.map(({ series }) => series));
      const nodeStats = Object.fromEntries(
        answers.map(({ node, series }) => [nodeAddress(node), alignedFigure(series, name, timesMs)]),
      );
      return reply.json({ ...headOf({ timesMs, isPersistent }), timestamp: timesMs, nodeStats });
    }),
  ];
}

/** @throws Refusal for a section that does not exist or that the caller may not read, and for an unknown zoom. */
function seriesRequestOf(
  deps: BucketStatsDeps,
  params: Params,
  query: Form,
  context: Context,
  figure: string | null = null,
): { request: SeriesRequest; isPersistent: boolean } {
  const { name, isPersistent } = shownSection(deps, params, context);
  const zoom = query['zoom'] ?? 'minute';
  if (!isZoom(zoom)) throw bucketRefusals.unknownZoom();
  const isForChart = query['resampleForUI'] !== undefined;
  const afterMs = timestampOf(query['haveTStamp']);
  return { request: { bucket: name, choice: { zoom, isForChart, figure, afterMs } }, isPersistent };
}

/** A bucket, or a section of a service, which requires the right to the statistics of the cluster. */
function shownSection(
  deps: BucketStatsDeps,
  params: Params,
  context: Context,
): { name: string; isPersistent: boolean } {
  const section = serviceSection(params['bucket'] as string);
  if (section === null) {
    const { name, type } = bucketOf(deps, params);
    return { name, isPersistent: type === 'native' };
  }
  if (!context.may(readClusterStats)) throw generalRefusals.forbidden([readClusterStats]);
  if (section.bucket !== null) bucketOf(deps, { bucket: section.bucket });
  return { name: section.name, isPersistent: false };
}

interface NodeSeries {
  node: StableNodeSnapshot;
  series: BucketSeries;
}

/** The series of this node and of the other active ones that answer in time. */
async function seriesOfActiveNodes(
  deps: BucketStatsDeps,
  context: Context,
  read: (node: StableNodeSnapshot) => Promise<BucketSeries>,
): Promise<NodeSeries[]> {
  const nodes = activeNodes(deps, context).filter(({ isThis, isAnswering }) => isThis || isAnswering);
  const answers = await Promise.all(
    nodes.map(async (node) => {
      try {
        return [{ node, series: await read(node) }];
      } catch (error) {
        if (node.isThis || !(error instanceof UnavailableError)) throw error;
        return [];
      }
    }),
  );
  return answers.flat();
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

const headOf = ({ timesMs, isPersistent }: Pick<ShownSeries, 'timesMs' | 'isPersistent'>) => ({
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
