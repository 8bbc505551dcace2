// The sections of the older statistics: of a bucket, and under names that begin with @ of a service, of the machine, or of the indexes or
// replications of a bucket. Each has its series, and figures that are computed from them.
import { type MetricName, metrics } from '#metrics/catalog.ts';
import type { Matcher, Series } from '#metrics/sample.ts';
import { replicationFigure, replicationFigureNames, replicationIdOf } from '../xdcr/replication-figures.ts';
import {
  bucketFigures,
  bucketSources,
  gauge,
  machineFigures,
  nodeSources,
  rate,
  type SampleFigure,
} from './bucket-figures.ts';

type Figures = Readonly<Record<string, SampleFigure>>;

export interface StatsSection {
  readonly name: string;
  /** The bucket that the section is about; null: the whole node. */
  readonly bucket: string | null;
  /** The series that the figures need: those that match all conditions of one of the lists. */
  readonly selections: readonly (readonly Matcher[])[];
  /** The figures by name; some exist only for certain series, such as those of an index. */
  figures(series: readonly Series[]): Figures;
  /** A figure that has a value whenever the section was sampled. */
  readonly sampled: SampleFigure;
  /** Whether the last minutes have a sample of each second. */
  readonly isPerSecond: boolean;
}

/** The conditions for the series with these names, of one bucket if it is given. */
const matchersFor = (names: readonly string[], bucket?: string): Matcher[] => [
  { label: '__name__', operator: '=~', value: names.join('|') },
  ...(bucket === undefined ? [] : [{ label: 'bucket', operator: '=' as const, value: bucket }]),
];

export const bucketSection = (bucket: string): StatsSection => ({
  name: bucket,
  bucket,
  selections: [matchersFor(bucketSources, bucket), matchersFor(nodeSources)],
  figures: () => bucketFigures,
  sampled: rate('kv_ops', { op: 'set' }),
  isPerSecond: true,
});

/** Every node counts requests to its REST API, so their rate has a value whenever the node was sampled. */
const nodeSampled = rate('cm_rest_request_enters_total');

const nodeSection = (name: string, figures: Figures, sources: readonly string[]): StatsSection => ({
  name,
  bucket: null,
  selections: [matchersFor([...sources, 'cm_rest_request_enters_total'])],
  figures: () => figures,
  sampled: nodeSampled,
  isPerSecond: true,
});

const namesWith = (prefix: string) =>
  (Object.keys(metrics) as MetricName[]).filter((name) => name.startsWith(prefix));

/** A counter as its growth per second, a gauge as it is. */
const figureOf = (name: MetricName, labels = {}): SampleFigure =>
  metrics[name].kind === 'counter' ? rate(name, labels) : gauge(name, labels);

const queryNames = namesWith('n1ql_');
const serviceIndexNames: readonly MetricName[] = ['index_memory_quota', 'index_num_indexes'];
const indexNames = namesWith('index_').filter((name) => !serviceIndexNames.includes(name));

const nodeSections: readonly StatsSection[] = [
  nodeSection('@system', machineFigures, nodeSources),
  nodeSection(
    '@query',
    Object.fromEntries(queryNames.map((name) => [name.replace('n1ql_', 'query_'), figureOf(name)])),
    queryNames,
  ),
  nodeSection(
    '@index',
    Object.fromEntries(serviceIndexNames.map((name) => [name, figureOf(name)])),
    serviceIndexNames,
  ),
];

/** The figures of all indexes of a bucket together, and of each; indexes with the same name in several collections are added up. */
function indexFigures(series: readonly Series[]): Figures {
  const indexes = new Set(series.flatMap(({ labels }) => labels['index'] ?? []));
  return Object.fromEntries(
    indexNames.flatMap((name) => {
      const figure = name.replace('index_', '');
      return [
        [`index/${figure}`, figureOf(name)] as const,
        ...[...indexes].map((index) => [`index/${index}/${figure}`, figureOf(name, { index })] as const),
      ];
    }),
  );
}

/** The figures of all replications of a bucket together. */
const replicationSums = ['replication_changes_left', 'replication_docs_rep_queue'] as const;

function replicationsFigures(series: readonly Series[]): Figures {
  const ids = new Set(series.flatMap(({ labels }) => replicationIdOf(labels) ?? []));
  const paths = [...ids].flatMap((id) => replicationFigureNames.map((name) => `replications/${id}/${name}`));
  return {
    ...Object.fromEntries(replicationSums.map((name) => [name, bucketFigures[name] as SampleFigure])),
    ...Object.fromEntries(paths.map((path) => [path, figureOfReplication(path) as SampleFigure])),
  };
}

/** A figure under a path `replications/<id>/<name>`; null: there is none of that name. */
export function figureOfReplication(path: string): SampleFigure | null {
  const found = replicationFigure(path);
  if (found === null) return null;
  const { metric, labels, factor } = found;
  return (grid) => grid.gauge(metric, labels).map((value) => value * factor);
}

const bucketServiceSections: Readonly<
  Record<string, { names: readonly string[]; figures: StatsSection['figures'] }>
> = {
  '@index-': { names: indexNames, figures: indexFigures },
  '@xdcr-': { names: namesWith('xdcr_'), figures: replicationsFigures },
};

/** The section with that name; null if the name has no @ and so is a bucket's, or if the service does not exist. */
export function serviceSection(name: string): StatsSection | null {
  const ofNode = nodeSections.find((section) => section.name === name);
  if (ofNode) return ofNode;
  const prefix = Object.keys(bucketServiceSections).find((start) => name.startsWith(start));
  if (prefix === undefined) return null;
  const { names, figures } = bucketServiceSections[prefix] as (typeof bucketServiceSections)[string];
  const bucket = name.slice(prefix.length);
  const selections = [matchersFor(names, bucket), matchersFor(['cm_rest_request_enters_total'])];
  // The series of single indexes and replications are not sampled every second.
  return { name, bucket, selections, figures, sampled: nodeSampled, isPerSecond: false };
}
