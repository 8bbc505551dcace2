// Parses decimal numbers of forms and queries with any number of digits; range checks refuse large ones later.

/** Decimal digits with an optional sign; blanks around them are tolerated. Null for anything else. */
export const integerOf = (text: string): number | null =>
  /^\s*[+-]?\d+\s*$/.test(text) ? Number(text) : null;

/** An integer, or digits on both sides of a point. */
export const numberOf = (text: string): number | null =>
  /^\s*[+-]?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
