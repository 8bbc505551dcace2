// The state of the cluster: nodes, memory, disk, alerts, running tasks.
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import type { Bucket, Cluster, NodeInfo, Task } from '../api/types.ts';
import { Button } from '../kit/controls.tsx';
import { count, duration, percent, serviceName, size, time } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { type Resource, useAction, useResource } from '../kit/use-resource.ts';
import { useTasks } from '../kit/use-tasks.ts';
import { addressTo } from '../shell/router.ts';

export function Content() {
  const cluster = useResource((signal) => call<Cluster>(routes.cluster, { signal }), [], 5_000);
  const buckets = useResource((signal) => call<Bucket[]>(routes.buckets, { signal }), [], 5_000);
  const tasks = useTasks();
  return (
    <Page title="Overview">
      <Loaded from={cluster}>
        {(loaded) => (
          <>
            <Alerts cluster={loaded} onDismissed={cluster.reload} />
            <Figures cluster={loaded} buckets={buckets} />
            <h2>Nodes</h2>
            <Table
              caption="Nodes"
              columns={nodeColumns}
              rows={loaded.nodes}
              rowKey={({ otpNode }) => otpNode}
              empty="There are no nodes."
            />
          </>
        )}
      </Loaded>
      <h2>Tasks</h2>
      <Loaded from={tasks}>
        {(list) => (
          <Table
            caption="Tasks"
            columns={taskColumns}
            rows={list.filter(({ status }) => status !== 'notRunning')}
            rowKey={(task) => `${task.type} ${task.bucket ?? ''} ${task.id ?? ''}`}
            empty="No task is running."
          />
        )}
      </Loaded>
    </Page>
  );
}

function Alerts({ cluster, onDismissed }: { cluster: Cluster; onDismissed: () => void }) {
  const action = useAction();
  if (cluster.alerts.length === 0) return null;
  const token = new URL(cluster.alertsSilenceURL, location.href).searchParams.get('token') ?? '';
  const dismiss = () => call(routes.dismissAlerts, { form: { token } }).then(onDismissed);
  return (
    <section aria-label="Alerts">
      <Problem problem={action.problem} />
      {cluster.alerts.map(({ msg, serverTime }) => (
        <p key={msg} class="notice caution">
          {msg} ({time(serverTime)})
        </p>
      ))}
      <Button disabled={action.isBusy} onClick={() => void action.run(dismiss)}>
        Dismiss alerts
      </Button>
    </section>
  );
}

function Figures({ cluster, buckets }: { cluster: Cluster; buckets: Resource<Bucket[]> }) {
  const { ram, hdd } = cluster.storageTotals;
  const ofBuckets = (figure: (list: readonly Bucket[]) => number) => {
    if (buckets.data) return count(figure(buckets.data));
    return buckets.problem ? 'unknown' : '…';
  };
  const sumOf = (value: (bucket: Bucket) => number | undefined) =>
    ofBuckets((list) => list.reduce((total, bucket) => total + (value(bucket) ?? 0), 0));
  const healthy = cluster.nodes.filter(({ status }) => status === 'healthy').length;
  const figures: [string, string, string][] = [
    ['Nodes', `${healthy} of ${cluster.nodes.length} healthy`, cluster.clusterName],
    ['Buckets', ofBuckets((list) => list.length), `${sumOf(({ basicStats }) => basicStats.itemCount)} items`],
    ['Operations a second', sumOf(({ basicStats }) => basicStats.opsPerSec), 'all buckets'],
    [
      'Memory for documents',
      size(ram.usedByData),
      `of ${size(ram.quotaTotal)} that the data service may use`,
    ],
    ['Memory in use', size(ram.used), `of ${size(ram.total)} of the nodes`],
    ['Disk for documents', size(hdd.usedByData), `${size(hdd.used)} of ${size(hdd.total)} in use`],
  ];
  return (
    <>
      <Problem problem={buckets.problem} />
      <dl class="cards">
        {figures.map(([title, value, note]) => (
          <div class="card" key={title}>
            <dt>{title}</dt>
            <dd>
              {value}
              <small>{note}</small>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

const nodeColumns: readonly Column<NodeInfo>[] = [
  { label: 'Name', value: ({ hostname }) => hostname },
  {
    label: 'State',
    value: ({ status }) => <Badge kind={status === 'healthy' ? 'good' : 'wrong'}>{status}</Badge>,
  },
  { label: 'Services', value: ({ services }) => services.map(serviceName).join(', ') },
  { label: 'Version', value: ({ version }) => version },
  { label: 'Up', value: ({ uptime }) => duration(Number(uptime)) },
  { label: 'CPU', isNumber: true, value: ({ systemStats }) => percent(systemStats.cpu_utilization_rate) },
  {
    label: 'Memory free',
    isNumber: true,
    value: ({ memoryFree, memoryTotal }) => `${size(memoryFree)} of ${size(memoryTotal)}`,
  },
];

const taskColumns: readonly Column<Task>[] = [
  { label: 'Task', value: ({ type }) => type },
  {
    label: 'Bucket',
    value: ({ bucket }) => bucket && <a href={addressTo(['buckets'])}>{bucket}</a>,
  },
  { label: 'State', value: ({ status }) => status },
  {
    label: 'Progress',
    value: ({ progress, type }) => progress !== undefined && <Progress label={type} share={progress / 100} />,
  },
];
