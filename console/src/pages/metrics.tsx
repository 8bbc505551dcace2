// Charts of metrics over time: the board of a bucket, of the nodes, and any metric by its name.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket } from '../api/types.ts';
import { Field, Select } from '../kit/controls.tsx';
import { Page, Problem } from '../kit/notices.tsx';
import { useForm } from '../kit/use-form.ts';
import { useResource } from '../kit/use-resource.ts';
import { chartsOf, combinations, customChart, functions, intervals } from './metric-boards.ts';
import { MetricCharts } from './metric-charts.tsx';

export function Content() {
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }));
  const [board, setBoard] = useState('nodes');
  const [interval, chooseInterval] = useState('600');
  const custom = useForm({ metric: '', labels: '', window: 'none', combination: 'none' });
  const specs = [...(custom.values.metric ? [customChart(custom.values)] : []), ...chartsOf(board)];
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
            ['replication', 'Replication'],
            ...(buckets.data ?? []).map(({ name }) => [`bucket ${name}`, `Bucket ${name}`] as const),
          ]}
        />
        <Select label="Interval" value={interval} onChange={chooseInterval} options={intervals} />
      </div>
      <div class="row fields">
        <Field
          label="Any other metric"
          {...custom.text('metric')}
          hint="A name of /metrics, such as kv_curr_items"
        />
        <Field label="Its labels" {...custom.text('labels')} mono hint="bucket=travel, separated by commas" />
        <Select label="Function" {...custom.choice('window')} options={functions} />
        <Select label="Over all series" {...custom.choice('combination')} options={combinations} />
      </div>
      <MetricCharts specs={specs} seconds={Number(interval)} />
    </Page>
  );
}
