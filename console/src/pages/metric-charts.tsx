// Charts of metrics over an interval that ends now, read again as samples come.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Chart, type Series } from '../kit/chart.tsx';
import { Loaded } from '../kit/notices.tsx';
import { useResource } from '../kit/use-resource.ts';
import type { ChartSpec } from './metric-boards.ts';

interface Range {
  readonly data: readonly {
    readonly metric: Readonly<Record<string, unknown>>;
    readonly values: readonly (readonly [number, string])[];
  }[];
  /** Seconds since 1970, as the times in `values`. */
  readonly startTimestamp: number;
  readonly endTimestamp: number;
}

interface MetricChartsProps {
  readonly specs: readonly ChartSpec[];
  /** The length of the interval. */
  readonly seconds: number;
}

/** Samples of each series in a chart. */
const samplesInChart = 60;

export function MetricCharts({ specs, seconds }: MetricChartsProps) {
  const requested = specs.map((spec) => rangeOf(spec, seconds));
  const ranges = useResource(
    (signal) => call<Range[]>(routes.ranges, { json: requested, signal }),
    [JSON.stringify(requested)],
    Math.max(5_000, (seconds / samplesInChart) * 1_000),
  );
  return (
    <Loaded from={ranges}>
      {(loaded) => (
        <div class="charts">
          {specs.map((spec, index) => {
            const range = loaded[index];
            return (
              range && (
                <Chart
                  key={spec.title}
                  title={spec.title}
                  series={range.data.map(seriesOf)}
                  format={spec.format}
                  from={range.startTimestamp}
                  to={range.endTimestamp}
                />
              )
            );
          })}
        </div>
      )}
    </Loaded>
  );
}

const rangeOf = ({ metric, labels, applyFunctions }: ChartSpec, seconds: number) => ({
  metric: Object.entries({ name: metric, ...labels }).map(([label, value]) => ({ label, value })),
  ...(applyFunctions.length > 0 && { applyFunctions }),
  start: -seconds,
  step: Math.max(1, Math.round(seconds / samplesInChart)),
});

function seriesOf({ metric, values }: Range['data'][number]): Series {
  const labels = Object.entries(metric).filter(([name]) => name !== 'name' && name !== 'nodes');
  const nodes = Array.isArray(metric['nodes']) ? metric['nodes'].join(', ') : '';
  const name = [nodes, ...labels.map(([, value]) => String(value))].filter(Boolean).join(' · ');
  return { name, points: values.map(([at, value]) => [at, numberIn(value)] as const) };
}

function numberIn(text: string): number | null {
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
