// Reads JSON texts, and removes members, without changing the digits of numbers. Used by commands, backups and the web console.

/** TypeScript's library does not declare these functions yet. */
export const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
export const isRawJson = (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON;

/** Parses the text. `JSON.stringify` writes the numbers of the returned value with the digits that they had in the text. */
export function exactJson(text: string): unknown {
  const exact = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' && source !== undefined ? rawJson(source) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}

/** Parses the text: whole numbers that a double may not hold exactly become raw JSON with their digits. */
export function jsonWithExactIntegers(text: string): unknown {
  const exact = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' && source !== undefined && isInexact(value) ? rawJson(source) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}

/** True for whole numbers beyond 2^53, and for numbers beyond the range of a double. */
const isInexact = (value: number): boolean =>
  !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));

/** Like `exactJson`, but null if the text is not that of an object. */
export function exactObject(text: string): Readonly<Record<string, unknown>> | null {
  const value = exactJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

/** The text of an object without these members; any other text is returned unchanged. */
export function withoutFields(text: string, names: readonly string[]): string {
  const object = exactObject(text);
  if (object === null) return text;
  return JSON.stringify(Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name))));
}
