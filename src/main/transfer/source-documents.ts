// Makes documents of the records of a file: their value as text of JSON, and their key.
import { isUtf8 } from 'node:buffer';
import { withoutFields } from '#base/exact-json.ts';
import type { KeyGenerator, KeyRules } from './key-generator.ts';
import type { SourceRecord } from './source-record.ts';

export interface ImportedDocument {
  readonly key: string;
  readonly value: Buffer;
}

export interface DocumentForm extends KeyRules {
  readonly keys: KeyGenerator;
  /** Fields that documents are stored without. */
  readonly ignoredFields: readonly string[];
  /** The names in the first line of CSV; null for JSON. */
  readonly header: readonly string[] | null;
  readonly infersTypes: boolean;
  readonly omitsEmpty: boolean;
}

/** @throws Error that says what is wrong with the record */
export function documentOf(record: SourceRecord, ordinal: number, form: DocumentForm): ImportedDocument {
  if (record.problem !== undefined || record.content === null) throw new Error(record.problem);
  const text = Buffer.isBuffer(record.content) ? jsonText(record.content) : rowText(record.content, form);
  const value = parsed(text);
  const key = form.keys.keyOf(value, ordinal, form);
  const stored = form.ignoredFields.length === 0 ? text : withoutFields(text, form.ignoredFields);
  return { key, value: Buffer.from(stored) };
}

function jsonText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new Error('is not UTF-8');
  return bytes.toString();
}

/** The value of the record, for its key. Integers that a number cannot have exactly are of the type bigint. */
function parsed(text: string): unknown {
  try {
    // A reviver is slow: it is used only where there may be such an integer.
    return /\d{16}/.test(text)
      ? JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch (error) {
    throw new Error(`is no JSON: ${(error as Error).message}`);
  }
}

const exactInteger = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;

function rowText(cells: readonly string[], { header, infersTypes, omitsEmpty }: DocumentForm): string {
  const names = header ?? [];
  if (cells.length !== names.length)
    throw new Error(`has ${cells.length} cells; the first line names ${names.length}`);
  const fields = names
    .map((name, index) => [name, cells[index] as string] as const)
    .filter(([, cell]) => !(omitsEmpty && cell === ''))
    .map(([name, cell]) => `${JSON.stringify(name)}:${infersTypes ? inferred(cell) : JSON.stringify(cell)}`);
  return `{${fields.join(',')}}`;
}

const literal = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false)$/;

const inferred = (cell: string): string => (literal.test(cell) ? cell : JSON.stringify(cell));
