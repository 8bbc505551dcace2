// A random sample of rows (reservoir sampling), bounded in rows and bytes: when it exceeds its bytes, it keeps every second row.

/** Elements of an array key, of one document. */
export interface SampledElements {
  readonly count: number;
  /** The first elements, at most `elementsMax`. */
  readonly kept: readonly unknown[];
}

interface Row {
  /** By position: undefined for MISSING; `SampledElements` of an array key. */
  readonly values: readonly unknown[];
  readonly bytes: number;
}

/** Elements of an array that are kept. */
const elementsMax = 20;
/** Characters of a string, or of the JSON text of an array or object, that is kept whole. */
const textMax = 256;
/** Longer rows, in characters, are left out: to parse one would delay other requests. */
const rowTextMax = 256 << 10;
/** The estimated memory of a value apart from its text. */
const valueBytes = 16;

export class ValueSample {
  /** The number of rows that were offered. */
  seen = 0;
  private rows: Row[] = [];
  private rowsMax: number;
  private readonly bytesMax: number;
  private bytes = 0;
  private readonly arrays: readonly boolean[];

  /** `arrays`: whether a row has an array of elements at this position. */
  constructor(limits: { readonly rows: number; readonly bytes: number }, arrays: readonly boolean[]) {
    this.rowsMax = limits.rows;
    this.bytesMax = limits.bytes;
    this.arrays = arrays;
  }

  get size(): number {
    return this.rows.length;
  }

  valuesAt(position: number): unknown[] {
    return this.rows.map(({ values }) => values[position]);
  }

  /** `random` returns a number from 0 to below 1. `textOf` is called only for a row that is kept: a JSON object with the values by position. */
  offer(random: () => number, textOf: () => string): void {
    this.seen++;
    const isFull = this.rows.length >= this.rowsMax;
    const at = isFull ? Math.floor(random() * this.seen) : this.rows.length;
    if (at >= this.rowsMax) return;
    const text = textOf();
    if (text.length > rowTextMax) return;
    const valueByPosition = JSON.parse(text) as Record<string, unknown>;
    const values = this.arrays.map((isArray, position) => shortened(valueByPosition[position], isArray));
    const bytes = values.reduce<number>((total, value) => total + bytesOf(value), 0);
    this.bytes += bytes - (this.rows[at]?.bytes ?? 0);
    this.rows[at] = { values, bytes };
    while (this.bytes > this.bytesMax && this.rows.length > 1) this.halve();
  }

  private halve(): void {
    this.rows = this.rows.filter((_row, at) => at % 2 === 0);
    this.rowsMax = this.rows.length;
    this.bytes = this.rows.reduce((total, { bytes }) => total + bytes, 0);
  }
}

function shortened(value: unknown, isArray: boolean): unknown {
  if (!isArray) return short(value);
  const elements = Array.isArray(value) ? value : [];
  return { count: elements.length, kept: elements.slice(0, elementsMax).map(short) };
}

/** Replaces a long string by its beginning, and a long array or object by an empty one, which lies before it in collation order. */
function short(value: unknown): unknown {
  // A copy: a part of a string would keep the whole of it in memory.
  if (typeof value === 'string')
    return value.length > textMax ? Buffer.from(value.slice(0, textMax)).toString() : value;
  if (typeof value !== 'object' || value === null) return value;
  if (JSON.stringify(value).length <= textMax) return value;
  return Array.isArray(value) ? [] : {};
}

function bytesOf(value: unknown): number {
  if (typeof value === 'string') return valueBytes + value.length;
  const isPlain = typeof value !== 'object' || value === null;
  return isPlain ? valueBytes : valueBytes + 8 * JSON.stringify(value).length;
}
