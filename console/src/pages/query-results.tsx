// The rows of a statement: as a table, as a tree, or as JSON.
import { useState } from 'preact/hooks';
import { isRawJson } from '../../../src/base/exact-json.ts';
import { Button } from '../kit/controls.tsx';
import { count } from '../kit/format.ts';
import { type Column, Table } from '../kit/table.tsx';
import { Tree } from '../kit/tree.tsx';
import type { Outcome } from './query-run.ts';

const forms = ['Table', 'Tree', 'JSON'] as const;
type Form = (typeof forms)[number];

const columnsMax = 50;
/** The most JSON that is shown: more would make the page slow. */
const jsonCharsMax = 200_000;

export function Results({ outcome }: { outcome: Outcome }) {
  const { rows, elapsed, mutations, warnings } = outcome;
  const [form, setForm] = useState<Form>('Table');
  const columns = columnsOf(rows);
  return (
    <section aria-label="Results">
      <p role="status">
        {count(rows.length)} rows in {elapsed}
        {mutations > 0 && `, ${count(mutations)} documents changed`}
      </p>
      {warnings.map((text) => (
        <p key={text} class="notice caution">
          {text}
        </p>
      ))}
      <fieldset class="row choice">
        <legend>Show rows as</legend>
        {forms.map((each) => (
          <Button key={each} pressed={form === each} onClick={() => setForm(each)}>
            {each}
          </Button>
        ))}
      </fieldset>
      {form === 'Table' && (
        <Table
          caption="Rows"
          columns={columns}
          rows={rows.map((row, index) => ({ row, index }))}
          rowKey={({ index }) => String(index)}
          empty="The statement has no rows."
        />
      )}
      {form === 'Tree' && (
        <ul class="tree">
          <Tree name="rows" value={rows} isOpen />
        </ul>
      )}
      {form === 'JSON' && <Json rows={rows} />}
    </section>
  );
}

interface NumberedRow {
  readonly row: unknown;
  readonly index: number;
}

function columnsOf(rows: readonly unknown[]): readonly Column<NumberedRow>[] {
  const names = [...new Set(rows.flatMap((row) => (isObject(row) ? Object.keys(row) : [])))];
  const number: Column<NumberedRow> = { label: 'Row', value: ({ index }) => index + 1 };
  if (names.length === 0) return [number, { label: 'Value', value: ({ row }) => textOf(row) }];
  return [
    number,
    ...names.slice(0, columnsMax).map((name) => ({
      label: name,
      value: ({ row }: NumberedRow) => (isObject(row) && name in row ? textOf(row[name]) : ''),
    })),
  ];
}

const isObject = (row: unknown): row is Readonly<Record<string, unknown>> =>
  typeof row === 'object' && row !== null && !Array.isArray(row) && !isRawJson(row);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function Json({ rows }: { rows: readonly unknown[] }) {
  const text = JSON.stringify(rows, null, 2);
  const isLong = text.length > jsonCharsMax;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard. */}
      <pre tabIndex={0}>{isLong ? `${text.slice(0, jsonCharsMax)}…` : text}</pre>
      {isLong && <p class="quiet">Only the beginning is shown.</p>}
    </>
  );
}
