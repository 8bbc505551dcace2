// Indexes of all collections, with the state of their builds.
import { useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { routes } from '../api/routes.ts';
import { Button } from '../kit/controls.tsx';
import { ConfirmByName } from '../kit/dialog.tsx';
import { time } from '../kit/format.ts';
import { Badge, Loaded, Page, Progress } from '../kit/notices.tsx';
import { type Column, Table } from '../kit/table.tsx';
import { useResource } from '../kit/use-resource.ts';
import { addressTo } from '../shell/router.ts';
import { runStatement } from './query-run.ts';

interface Index {
  readonly id: string;
  readonly indexName: string;
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
  readonly definition: string;
  readonly status: string;
  /** In percent. */
  readonly progress: number;
  readonly lastScanTime: string;
  readonly hosts: readonly string[];
}

export function Content() {
  const load = (signal: AbortSignal) => call<{ indexes: Index[] }>(routes.indexes, { signal });
  const indexes = useResource(load, [], 3_000);
  const [dropped, setDropped] = useState<Index>();
  const columns: readonly Column<Index>[] = [
    ...indexColumns,
    {
      label: 'Actions',
      value: (index) => (
        <Button kind="danger" label={`Drop ${index.indexName}`} onClick={() => setDropped(index)}>
          Drop
        </Button>
      ),
    },
  ];
  return (
    <Page title="Indexes">
      <Loaded from={indexes}>
        {({ indexes: list }) => (
          <Table
            caption="Indexes"
            columns={columns}
            rows={list}
            rowKey={({ id }) => id}
            empty={
              <>
                There are no indexes. Statements such as CREATE INDEX on the page{' '}
                <a href={addressTo(['query'])}>Query</a> create them.
              </>
            }
          />
        )}
      </Loaded>
      {dropped && (
        <ConfirmByName
          title="Drop the index"
          name={dropped.indexName}
          action="Drop"
          onConfirm={async () =>
            void (await runStatement(dropStatement(dropped), '', new AbortController().signal))
          }
          onClose={() => {
            setDropped(undefined);
            indexes.reload();
          }}
        >
          Statements that use it read whole collections afterwards, or fail.
        </ConfirmByName>
      )}
    </Page>
  );
}

/** A name in backticks; a backtick in the name is doubled. */
const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

const dropStatement = ({ indexName, bucket, scope, collection }: Index): string =>
  `DROP INDEX ${quoted(indexName)} ON ${[bucket, scope, collection].map(quoted).join('.')}`;

const indexColumns: readonly Column<Index>[] = [
  { label: 'Name', value: ({ indexName }) => indexName },
  { label: 'Collection', value: ({ bucket, scope, collection }) => `${bucket}.${scope}.${collection}` },
  {
    label: 'State',
    value: ({ status, progress, indexName }) =>
      progress < 100 && status !== 'Ready' ? (
        <Progress label={`Build of ${indexName}`} share={progress / 100} />
      ) : (
        <Badge kind={status === 'Ready' ? 'good' : 'caution'}>{status}</Badge>
      ),
  },
  { label: 'Definition', value: ({ definition }) => <span class="mono">{definition}</span> },
  { label: 'Last used', value: ({ lastScanTime }) => (lastScanTime === 'NA' ? 'never' : time(lastScanTime)) },
];
