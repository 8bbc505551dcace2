// Text of a statement that JSON.parse reads as the language does.

/** The value of the text in JSON; undefined: it is not JSON, or means something else there. Integers are to be checked with `isSameNumber`. */
export function readAsJson(text: string): unknown {
  // Escapes of JSON and of SQL++ differ, and JSON keeps lone surrogates.
  if (text.includes('\\') || !text.isWellFormed()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Integers beyond 2^53 are exact in SQL++. */
export const isSameNumber = (value: number): boolean =>
  Number.isSafeInteger(value) || !Number.isInteger(value);
