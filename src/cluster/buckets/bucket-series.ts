// The sample series of a section of the statistics, such as a bucket: the timestamps of a period (`zoom`), and the figures at them, from the
// node's time series.
import type { Matcher, MetricsStore, Series } from '#metrics/sample.ts';
import type { Clock } from '#ports/clock.ts';
import { replicationFigure } from '../xdcr/replication-figures.ts';
import { SeriesGrid } from './series-grid.ts';
import { figureOfReplication, type StatsSection } from './stats-sections.ts';

/** The published periods: the seconds of a step, and the number of steps. */
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
/** Rates need earlier samples: a read begins by this number of steps, and by `earlierSamplesMs` in addition, before the first timestamp. */
const earlierSteps = 2;
const earlierSamplesMs = 30_000;

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
  /** Called at each read of the last minute, which needs a sample of each second. */
  watched: () => void;
  clock: Clock;
}

/** The part of the store of metrics that reads of a section need. */
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

  async read(section: StatsSection, choice: SeriesChoice): Promise<BucketSeries> {
    const { timesMs, stepMs } = this.#timesOf(choice);
    const [firstMs = 0, lastMs = 0] = [timesMs[0], timesMs.at(-1)];
    if (timesMs.length === 0) return { timesMs, figures: {} };
    const fromMs = firstMs - earlierSteps * stepMs - earlierSamplesMs;
    const replication = await this.#replication(choice.figure, fromMs, lastMs, choice.zoom);
    if (replication?.length === 0) return { timesMs: [], figures: {} };
    const isPerSecond = section.isPerSecond && choice.zoom === 'minute';
    const series = [...(replication ?? [])];
    for (const matchers of section.selections)
      series.push(...(await this.#select(matchers, { fromMs, toMs: lastMs, isPerSecond }, choice.zoom)));
    // A sample of the last minute is shown for one second only; elsewhere a value holds until the next sample.
    const newestMs = isPerSecond
      ? Math.max(0, ...series.map((oneSeries) => oneSeries.timesMs.at(-1) ?? 0))
      : lastMs;
    const wanted = wantedFigures(section, series, choice.figure);
    return shownOf(new SeriesGrid(series, { timesMs, stepMs }), { timesMs, newestMs, section, wanted });
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
    const matchers = labels.map(([label, value]) => ({ label, operator: '=' as const, value }));
    return await this.#select(matchers, { fromMs, toMs, isPerSecond: zoom === 'minute' }, zoom);
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

  /** Reads the last minute, where it has samples of each second, from memory. */
  async #select(
    matchers: readonly Matcher[],
    { fromMs, toMs, isPerSecond }: { fromMs: number; toMs: number; isPerSecond: boolean },
    zoom: Zoom,
  ): Promise<readonly Series[]> {
    const { timeSeries, watched } = this.#deps;
    if (zoom === 'minute') watched();
    if (isPerSecond) return timeSeries.recent(matchers, fromMs, toMs);
    return (await timeSeries.select(matchers, fromMs, toMs, { enoughMs: zooms[zoom].step * 1000 })).series;
  }
}

type WantedFigures = [string, (grid: SeriesGrid) => readonly number[]][];

/** All figures of the section, or the one with that name, which may be of a replication; none if no figure has that name. */
function wantedFigures(section: StatsSection, series: readonly Series[], name: string | null): WantedFigures {
  const figures = section.figures(series);
  if (name === null) return Object.entries(figures);
  const figure = figureOfReplication(name) ?? (Object.hasOwn(figures, name) ? figures[name] : undefined);
  return figure === undefined ? [] : [[name, figure]];
}

interface Shown {
  timesMs: readonly number[];
  newestMs: number;
  section: StatsSection;
  wanted: WantedFigures;
}

/** Timestamps before the second sample, from which on there are rates, and after the newest one are left out. */
function shownOf(grid: SeriesGrid, { timesMs, newestMs, section, wanted }: Shown): BucketSeries {
  const sampled = section.sampled(grid);
  const isSampled = sampled.map(
    (value, index) => !Number.isNaN(value) && (timesMs[index] as number) <= newestMs,
  );
  const pick = <T>(all: readonly T[]): T[] => all.filter((_, index) => isSampled[index]);
  const figures = wanted.map(
    ([name, figure]) => [name, pick(figure(grid)).map((value) => value || 0)] as const,
  );
  return { timesMs: wanted.length > 0 ? pick(timesMs) : [], figures: Object.fromEntries(figures) };
}
