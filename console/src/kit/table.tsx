// A table that shows a page of its rows at a time; on a phone each row is a card.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './controls.tsx';

export interface Column<T> {
  readonly label: string;
  readonly value: (row: T) => ComponentChildren;
  readonly isNumber?: boolean;
}

export interface TableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Shown in place of a table without rows: says what to do next. */
  readonly empty: ComponentChildren;
  readonly pageRows?: number;
}

/** The first column names the row. */
export function Table<T>({ caption, columns, rows, rowKey, empty, pageRows = 50 }: TableProps<T>) {
  const [page, setPage] = useState(0);
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const last = Math.ceil(rows.length / pageRows) - 1;
  const at = Math.min(page, last);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll, also by keyboard. */}
      <section class="table" aria-label={caption} tabIndex={0}>
        <table>
          <Head columns={columns} />
          <tbody>
            {rows.slice(at * pageRows, (at + 1) * pageRows).map((row) => (
              <Row key={rowKey(row)} row={row} columns={columns} />
            ))}
          </tbody>
        </table>
      </section>
      {last > 0 && <Pages at={at} last={last} rows={rows.length} onPage={setPage} />}
    </>
  );
}

export function Head<T>({ columns }: { columns: readonly Column<T>[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ label, isNumber }) => (
          <th key={label} scope="col" class={isNumber ? 'number' : ''}>
            {label}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps<T> {
  readonly row: T;
  readonly columns: readonly Column<T>[];
  /** For a table of which only some rows are in the DOM: the number of the row, from 1, the header included. */
  readonly rowIndex?: number;
}

export function Row<T>({ row, columns, rowIndex }: RowProps<T>) {
  return (
    <tr aria-rowindex={rowIndex}>
      {columns.map(({ label, value, isNumber }, index) =>
        index === 0 ? (
          <th key={label} scope="row">
            {value(row)}
          </th>
        ) : (
          <td key={label} data-label={label} class={isNumber ? 'number' : ''}>
            {value(row)}
          </td>
        ),
      )}
    </tr>
  );
}

interface PagesProps {
  /** The number of the page that is shown, from 0. */
  readonly at: number;
  /** The number of the last page. */
  readonly last: number;
  readonly rows: number;
  readonly onPage: (page: number) => void;
}

export function Pages({ at, last, rows, onPage }: PagesProps) {
  return (
    <div class="row pages">
      <Button disabled={at === 0} onClick={() => onPage(at - 1)}>
        Previous
      </Button>
      <span>
        Page {at + 1} of {last + 1}, {rows} rows
      </span>
      <Button disabled={at === last} onClick={() => onPage(at + 1)}>
        Next
      </Button>
    </div>
  );
}
