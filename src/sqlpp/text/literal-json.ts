// Text of a statement that JSON.parse reads as the language does.

/** The value of the text in JSON; undefined: it is not JSON, or has another value in SQL++. The caller checks its numbers with `isSameNumber`. */
export function readAsJson(text: string): unknown {
  // Escapes of JSON and of SQL++ differ, and JSON keeps lone surrogates.
  if (text.includes('\\') || !text.isWellFormed()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether SQL++ reads this number of JSON as the same number: its integers beyond 2^53 are exact. */
export const isSameNumber = (value: number): boolean =>
  Number.isSafeInteger(value) || !Number.isInteger(value);
