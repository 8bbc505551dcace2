// Whole numbers with more digits than a double has, such as generated ids: as doubles, different ones would be equal. Documents are parsed with
// them only for an expression that can tell the difference, since that takes longer.
import { rawJson } from '#base/exact-json.ts';

export class LargeInteger {
  // Private: a path of an expression must find no field in a number.
  readonly #value: bigint;

  constructor(value: bigint) {
    this.#value = value;
  }

  get value(): bigint {
    return this.#value;
  }

  toString(): string {
    return String(this.#value);
  }

  toJSON(): unknown {
    return rawJson(this.toString());
  }
}

/** The number of a text of digits. */
export function integerOf(digits: string): number | LargeInteger {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : new LargeInteger(BigInt(digits));
}

/** Parses JSON, with a `LargeInteger` for each whole number that a double cannot have exactly. */
export function parseExactly(text: string): unknown {
  // Most texts have no such number. With a function for each value, parsing takes several times as long, and fails where values are nested deep.
  if (!largeNumeral.test(text)) return JSON.parse(text) as unknown;
  return JSON.parse(text, exactInteger as (key: string, value: unknown) => unknown) as unknown;
}

/** The least whole number that a double cannot have exactly has 16 digits. */
const largeNumeral = /\d{16}/;

const exactInteger = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? new LargeInteger(BigInt(source))
    : value;
