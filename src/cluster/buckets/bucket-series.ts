// The sample series of a bucket: the timestamps of a zoom, and the figures at them, from the node's time series.
import type { Matcher, MetricsStore, Series } from '#metrics/sample.ts';
import type { Clock } from '#ports/clock.ts';
import { replicationFigure } from '../xdcr/replication-figures.ts';
import { bucketFigures, bucketSources, nodeSources } from './bucket-figures.ts';
import { SeriesGrid } from './series-grid.ts';

/** Seconds of a step, and the number of steps. */
const zooms = {
  minute: { step: 1, count: 60 },
  hour: { step: 4, count: 900 },
  day: { step: 60, count: 1440 },
  week: { step: 600, count: 1152 },
  month: { step: 1800, count: 1488 },
  year: { step: 21_600, count: 1464 },
};
export type Zoom = keyof typeof zooms;
export const isZoom = (text: string): text is Zoom => Object.hasOwn(zooms, text);

/** The number of points in a chart of older consoles. */
const chartSamples = 60;
/** Rates need earlier samples: a read begins so many steps and so much time before the first timestamp. */
const earlierSteps = 2;
const earlierMs = 30_000;

export interface SeriesChoice {
  zoom: Zoom;
  /** Only samples newer than this timestamp. */
  afterMs: number;
  isForChart: boolean;
  /** Null: all. */
  figure: string | null;
}

export interface BucketSeries {
  timesMs: number[];
  figures: Record<string, number[]>;
}

export interface SeriesReaderDeps {
  timeSeries: SeriesStore;
  /** Called at each read of the last minute. */
  watched: () => void;
  clock: Clock;
}

/** The part of the time series that reads of one bucket need. */
export type SeriesStore = Pick<MetricsStore, 'recent'> & {
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    options?: { enoughMs?: number },
  ): Promise<{ series: readonly Series[] }>;
};

export class BucketSeriesReader {
  readonly #deps: SeriesReaderDeps;

  constructor(deps: SeriesReaderDeps) {
    this.#deps = deps;
  }

  async read(bucket: string, choice: SeriesChoice): Promise<BucketSeries> {
    const { timesMs, stepMs } = this.#timesOf(choice);
    const [firstMs = 0, lastMs = 0] = [timesMs[0], timesMs.at(-1)];
    if (timesMs.length === 0) return { timesMs, figures: {} };
    const fromMs = firstMs - earlierSteps * stepMs - earlierMs;
    const replication = await this.#replication(choice.figure, fromMs, lastMs, choice.zoom);
    if (replication?.length === 0) return { timesMs: [], figures: {} };
    const series = [
      ...(await this.#select(named(bucketSources, bucket), fromMs, lastMs, choice.zoom)),
      ...(await this.#select(named(nodeSources), fromMs, lastMs, choice.zoom)),
      ...(replication ?? []),
    ];
    // A sample of the last minute is shown for one second only; elsewhere a value holds until the next sample.
    const newestMs =
      choice.zoom === 'minute'
        ? Math.max(0, ...series.map((oneSeries) => oneSeries.timesMs.at(-1) ?? 0))
        : lastMs;
    return shownOf(new SeriesGrid(series, { timesMs, stepMs }), timesMs, newestMs, choice.figure);
  }

  /** The series of a figure of a replication, none if there is no such replication; null: it is another figure. */
  async #replication(
    figure: string | null,
    fromMs: number,
    toMs: number,
    zoom: Zoom,
  ): Promise<readonly Series[] | null> {
    const wanted = figure === null ? null : replicationFigure(figure);
    if (wanted === null) return null;
    const labels = Object.entries({ __name__: wanted.metric, ...wanted.labels });
    return await this.#select(
      labels.map(([label, value]) => ({ label, operator: '=' as const, value })),
      fromMs,
      toMs,
      zoom,
    );
  }

  #timesOf({ zoom, afterMs, isForChart }: SeriesChoice): { timesMs: number[]; stepMs: number } {
    const { step, count } = zooms[zoom];
    const every = isForChart ? Math.max(Math.floor(count / chartSamples), 1) : 1;
    const stepMs = step * every * 1000;
    const lastMs = Math.floor(this.#deps.clock.wallMs() / stepMs) * stepMs;
    const length = Math.floor(count / every);
    const timesMs = Array.from({ length }, (_, index) => lastMs - (length - 1 - index) * stepMs);
    return { timesMs: timesMs.filter((timeMs) => timeMs > afterMs), stepMs };
  }

  /** Reads the last minute, which has samples of each second, from memory. */
  async #select(matchers: Matcher[], fromMs: number, toMs: number, zoom: Zoom): Promise<readonly Series[]> {
    const { timeSeries, watched } = this.#deps;
    if (zoom === 'minute') watched();
    if (zoom === 'minute') return timeSeries.recent(matchers, fromMs, toMs);
    return (await timeSeries.select(matchers, fromMs, toMs, { enoughMs: zooms[zoom].step * 1000 })).series;
  }
}

const named = (names: readonly string[], bucket?: string): Matcher[] => [
  { label: '__name__', operator: '=~', value: names.join('|') },
  ...(bucket === undefined ? [] : [{ label: 'bucket', operator: '=' as const, value: bucket }]),
];

function wantedFigures(figure: string | null): [string, (grid: SeriesGrid) => readonly number[]][] {
  const ofReplication = figure === null ? null : replicationFigure(figure);
  if (figure === null || ofReplication === null)
    return Object.entries(bucketFigures).filter(([name]) => figure === null || name === figure);
  const { metric, labels, factor } = ofReplication;
  return [[figure, (grid) => grid.gauge(metric, labels).map((value) => value * factor)]];
}

/** Timestamps before the first two samples and after the newest are left out. */
function shownOf(
  grid: SeriesGrid,
  timesMs: readonly number[],
  newestMs: number,
  figure: string | null,
): BucketSeries {
  const rates = grid.rate('kv_ops', { op: 'set' });
  const isSampled = rates.map((rate, index) => !Number.isNaN(rate) && (timesMs[index] as number) <= newestMs);
  const pick = <T>(all: readonly T[]): T[] => all.filter((_, index) => isSampled[index]);
  const wanted = wantedFigures(figure);
  const figures = wanted.map(([name, of]) => [name, pick(of(grid)).map((value) => value || 0)] as const);
  const isKnown = figure === null || wanted.length > 0;
  return { timesMs: isKnown ? pick(timesMs) : [], figures: Object.fromEntries(figures) };
}
