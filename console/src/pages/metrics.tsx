// Charts of metrics over time: the board of a bucket, of the nodes, and any metric by its name.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Chart, type Series } from '../kit/chart.tsx';
import { Field, Select } from '../kit/controls.tsx';
import { Loaded, Page, Problem } from '../kit/notices.tsx';
import { useResource } from '../kit/use-resource.ts';
import { type ChartSpec, chartsOf, customChart, functions, intervals } from './metric-boards.ts';

interface Range {
  readonly data: readonly {
    readonly metric: Readonly<Record<string, unknown>>;
    readonly values: readonly (readonly [number, string])[];
  }[];
  readonly startTimestamp: number;
  readonly endTimestamp: number;
}

/** Samples in a chart. */
const points = 60;

export function Content() {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const [board, setBoard] = useState('nodes');
  const [interval, chooseInterval] = useState('600');
  const [metric, setMetric] = useState('');
  const [fn, setFn] = useState('none');
  const seconds = Number(interval);
  const specs = [...(metric ? [customChart(metric, fn)] : []), ...chartsOf(board)];
  const ranges = useResource(
    (signal) => call<Range[]>(routes.ranges, { json: specs.map((spec) => rangeOf(spec, seconds)), signal }),
    [board, interval, metric, fn],
    Math.max(5_000, (seconds / points) * 1_000),
  );
  return (
    <Page title="Metrics">
      <Problem problem={buckets.problem} />
      <div class="row fields">
        <Select
          label="Board"
          value={board}
          onChange={setBoard}
          options={[
            ['nodes', 'Nodes'],
            ['queries', 'Queries'],
            ...(buckets.data ?? []).map(({ name }) => [`bucket ${name}`, `Bucket ${name}`] as const),
          ]}
        />
        <Select label="Interval" value={interval} onChange={chooseInterval} options={intervals} />
        <Field
          label="Any other metric"
          value={metric}
          onInput={setMetric}
          hint="A name of /metrics, such as kv_curr_items"
        />
        <Select label="Function" value={fn} onChange={setFn} options={functions} />
      </div>
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
    </Page>
  );
}

const rangeOf = ({ metric, labels, applyFunctions }: ChartSpec, seconds: number) => ({
  metric: Object.entries({ name: metric, ...labels }).map(([label, value]) => ({ label, value })),
  ...(applyFunctions.length > 0 && { applyFunctions }),
  start: -seconds,
  step: Math.max(1, Math.round(seconds / points)),
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
