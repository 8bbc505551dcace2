// Rows as text: a table, or one line of JSON per row.
import { isRawJson } from '#base/exact-json.ts';
import { escapeOf } from '../terminal.ts';

export const jsonLines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** One column per field; rows that are not objects share a column `value`. */
export function table(rows: readonly unknown[]): string {
  const shown = rows.map(fieldsOf);
  const columns = [...new Set(shown.flatMap((row) => [...row.keys()]))];
  const cells = shown.map((row) => columns.map((name) => (row.has(name) ? cell(row.get(name)) : '')));
  const heads = columns.map(printable);
  const widths = heads.map((head, i) =>
    cells.reduce((width, row) => Math.max(width, (row[i] as string).length), head.length),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, i) => text.padEnd(widths[i] as number))
      .join('  ')
      .trimEnd();
  const lines = [line(heads), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)];
  const count = `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n`;
  return columns.length === 0 ? count : `${lines.join('\n')}\n${count}`;
}

function fieldsOf(row: unknown): ReadonlyMap<string, unknown> {
  const isObject = typeof row === 'object' && row !== null && !Array.isArray(row) && !isRawJson(row);
  return new Map(isObject ? Object.entries(row) : [['value', row]]);
}

const cell = (value: unknown): string => printable(typeof value === 'string' ? value : JSON.stringify(value));

/** Control characters could move the cursor or change the terminal. */
export const printable = (text: string): string =>
  text.replace(/\p{C}/gu, (character) =>
    character === '\t' ? '\\t' : character === '\n' ? '\\n' : escapeOf(character),
  );
