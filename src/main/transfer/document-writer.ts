// Documents as text of a file: JSON lines, a JSON list or CSV.
import { exactObject } from '#base/exact-json.ts';
import type { ScannedDocument } from '#client/range-scan.ts';
import { CommandError } from '../exit-status.ts';
import type { FileFormat } from './file-source.ts';

export interface WrittenForm {
  readonly format: FileFormat;
  /** The field of the key; empty: none. */
  readonly keyField: string;
  /** Columns of CSV besides the key. */
  readonly fields: readonly string[];
  /** Between the cells of CSV: a comma or a tab. */
  readonly separator: string;
}

export const headOf = ({ format, keyField, fields, separator }: WrittenForm): string => {
  if (format === 'csv') return lineOf([...(keyField === '' ? [] : [keyField]), ...fields], separator);
  return format === 'list' ? '[' : '';
};

export const tailOf = ({ format }: WrittenForm): string => (format === 'list' ? '\n]\n' : '');

/** @throws Error that says why the document cannot be in such a file */
export function exportedText(document: ScannedDocument, form: WrittenForm, isFirst: boolean): string {
  if (!document.isJson) throw new Error('is not JSON');
  if (form.format === 'csv') return rowOf(document, form);
  const text = withKey(document, form.keyField);
  return form.format === 'list' ? `${isFirst ? '' : ','}\n${text}` : `${text}\n`;
}

/** The fields of a JSON object; of other documents none, since a row cannot have them. */
export function fieldsOfDocument({ isJson, value }: ScannedDocument): string[] {
  const parsed = isJson ? (JSON.parse(value.toString()) as unknown) : null;
  return isObject(parsed) ? Object.keys(parsed) : [];
}

/** The columns of CSV besides that of the key. @throws Error when a field of the documents has the name of that column */
export function columnsOf(fields: ReadonlySet<string>, keyField: string): string[] {
  if (keyField !== '' && fields.has(keyField))
    throw new CommandError(
      `documents have a field ${JSON.stringify(keyField)} themselves; choose another column for the key with --include-key, or name the columns with --fields`,
    );
  return [...fields].sort();
}

/** The text of the document itself, so that numbers keep their digits; on one line. */
function withKey({ key, value }: ScannedDocument, field: string): string {
  const text = value
    .toString()
    .replace(/[\r\n]/g, ' ')
    .trim();
  if (field === '') return text;
  const name = JSON.stringify(field);
  if (!text.startsWith('{')) throw new Error('is not an object, so it has no place for the key');
  const mayHaveField = text.includes(name) || text.includes('\\');
  if (mayHaveField && Object.hasOwn(JSON.parse(text) as object, field))
    throw new Error(`has a field ${name} itself; choose another one with --include-key`);
  const rest = text.slice(1).trimStart();
  return `{${name}:${JSON.stringify(key)}${rest.startsWith('}') ? '' : ','}${rest}`;
}

function rowOf({ key, value }: ScannedDocument, { keyField, fields, separator }: WrittenForm): string {
  const parsed = exactObject(value.toString());
  if (parsed === null) throw new Error('is not an object, so it has no columns');
  const cells = fields.map((name) => (Object.hasOwn(parsed, name) ? cellOf(parsed[name]) : ''));
  return lineOf([...(keyField === '' ? [] : [key]), ...cells], separator);
}

/** A line of a single empty cell has quotes, since readers skip empty lines. */
function lineOf(cells: readonly string[], separator: string): string {
  const text = cells.map((cell) => cellText(cell, separator)).join(separator);
  return text === '' && cells.length === 1 ? '""\n' : `${text}\n`;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const cellOf = (value: unknown): string => {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const cellText = (text: string, separator: string): string =>
  text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
