// Events of the cluster, newest first, and support bundles with the logs of the nodes.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button, Field } from '../kit/controls.tsx';
import { time } from '../kit/format.ts';
import { Badge, Loaded, Page, Problem, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useAction, useResource } from '../kit/use-resource.ts';
import { useTasks } from '../kit/use-tasks.ts';

interface Entry {
  readonly node: string;
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly tstamp: number;
  readonly shortText: string;
  readonly text: string;
}

export function Content() {
  const log = useResource((signal) => call<{ list: Entry[] }>(routes.log, { signal }), [], 5_000);
  const [text, setText] = useState('');
  const matches = (entry: Entry) =>
    `${entry.shortText} ${entry.text}`.toLowerCase().includes(text.toLowerCase());
  return (
    <Page title="Events">
      <LogCollection />
      <Field label="Text in the event" type="search" value={text} onInput={setText} />
      <Loaded from={log}>
        {({ list }) => (
          <Table
            caption="Events"
            columns={columns}
            rows={list.filter(matches).toReversed()}
            rowKey={({ node, tstamp, text: key }) => `${node} ${tstamp} ${key}`}
            empty="No event has this text."
          />
        )}
      </Loaded>
    </Page>
  );
}

const columns: readonly Column<Entry>[] = [
  { label: 'Time', value: ({ tstamp }) => time(tstamp) },
  {
    label: 'Kind',
    value: ({ type, shortText }) => <Badge kind={type === 'info' ? 'plain' : 'caution'}>{shortText}</Badge>,
  },
  { label: 'Event', value: ({ text }) => text },
  { label: 'Node', value: ({ node }) => node },
];

interface CollectionTask {
  readonly type: string;
  readonly status: string;
  /** In percent. */
  readonly progress?: number;
  readonly perNode?: Readonly<Record<string, { readonly status: string; readonly path?: string }>>;
}

function LogCollection() {
  const tasks = useTasks();
  const action = useAction();
  const task = (tasks.data as readonly CollectionTask[] | undefined)?.find(
    ({ type }) => type === 'clusterLogsCollection',
  );
  const isRunning = task?.status === 'running';
  const start = (route: typeof routes.collectLogs | typeof routes.cancelLogs) =>
    void action.run(async () => {
      await call(route, { form: route === routes.collectLogs ? { nodes: '*' } : {} });
      tasks.reload();
    });
  return (
    <section aria-label="Logs of the nodes">
      <Problem problem={action.problem ?? tasks.problem} />
      <div class="row">
        {isRunning ? (
          <>
            <Progress label="Collection of logs" share={(task.progress ?? 0) / 100} />
            <Button onClick={() => start(routes.cancelLogs)}>Cancel</Button>
          </>
        ) : (
          <Button disabled={action.isBusy} onClick={() => start(routes.collectLogs)}>
            Collect logs
          </Button>
        )}
      </div>
      {Object.entries(task?.perNode ?? {}).map(([node, { status, path }]) => (
        <p key={node} class="hint">
          {node}: {status}
          {path !== undefined && !isRunning && (
            <>
              , in <code>{path}</code> there
            </>
          )}
        </p>
      ))}
    </section>
  );
}
