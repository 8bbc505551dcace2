// Events of the cluster, newest first.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Field } from '../kit/controls.tsx';
import { time } from '../kit/format.ts';
import { Badge, Loaded, Page } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';

interface Entry {
  readonly node: string;
  readonly type: string;
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
