// Reads JSON texts, and changes their members, while numbers keep their digits. Used by `divan import`, `divan doc` and the web console.

/** TypeScript's library does not declare this function yet. */
export const rawJson = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;

/** The value that the text describes, whose numbers `JSON.stringify` writes as they were. */
export function exactJson(text: string): unknown {
  const exact = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === 'number' && source !== undefined ? rawJson(source) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown;
}

/** Like `exactJson`, for an object; null if the text describes none. */
export function exactObject(text: string): Readonly<Record<string, unknown>> | null {
  const value = exactJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

/** The text without these members of its object; a text that describes no object stays. */
export function withoutFields(text: string, names: readonly string[]): string {
  const object = exactObject(text);
  if (object === null) return text;
  return JSON.stringify(Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name))));
}
