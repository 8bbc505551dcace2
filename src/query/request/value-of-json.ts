// Converts JSON of requests to values of the language. It preserves 64-bit integers and accepts any member names.
import { numberLiteral } from '#sqlpp/values/number-literal.ts';
import { newObject, type Value, type ValueObject } from '#sqlpp/values/value.ts';

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** The limit is that of documents; recursive code for values has enough stack for this depth. */
const depthMax = 2_000;

export class TooDeepError extends Error {
  constructor() {
    super(`it has more than ${depthMax} levels`);
  }
}

/** @throws SyntaxError, TooDeepError */
export function valueOfJson(text: string): Value {
  return plainValue(parsedJson(text));
}

/**
 * Parses JSON with its 64-bit integers; `plainValue` makes values of the result.
 * @throws SyntaxError, TooDeepError
 */
export function parsedJson(text: string): unknown {
  // The reviver is called for every value, so only texts with numbers that may need it have one.
  try {
    return longDigits.test(text) ? parse(text, exactInteger) : JSON.parse(text);
  } catch (error) {
    // The stack is full: the value is nested too deeply.
    throw error instanceof RangeError ? new TooDeepError() : error;
  }
}

/** Matches texts with integers that a double may not hold exactly. */
const longDigits = /\d{16}/;

/**
 * Converts parsed JSON to the values that `json-parse.ts` makes: no half of a surrogate pair and no -0.
 * 64-bit integers are exact only in the result of `parsedJson`.
 * @throws TooDeepError
 */
export function plainValue(json: unknown, depth = 1): Value {
  if (typeof json === 'string') return json.toWellFormed();
  if (typeof json !== 'object' || json === null) return json === 0 ? 0 : (json as Value);
  if (depth > depthMax) throw new TooDeepError();
  if (Array.isArray(json)) {
    // A loop: map() would take a second and larger frame of the stack for each level.
    const list: Value[] = [];
    for (const item of json as unknown[]) list.push(plainValue(item, depth + 1));
    return list;
  }
  const object = newObject();
  for (const [name, value] of Object.entries(json))
    object[name.toWellFormed()] = plainValue(value, depth + 1);
  return object;
}

const exactInteger: Reviver = (_key, value, { source }) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return source === undefined ? value : numberLiteral(source);
};

/** Converts plain objects of our code; omits undefined members. */
export function asValue(plain: unknown): Value {
  if (Array.isArray(plain)) return plain.map(asValue);
  if (typeof plain !== 'object' || plain === null) return plain as Value;
  const object = newObject();
  for (const [name, member] of Object.entries(plain))
    if (member !== undefined) object[name] = asValue(member);
  return object satisfies ValueObject;
}
