// JSON text of requests as values of the language: integers of 64 bits stay exact, names of members are free.
import { newObject, type Value, type ValueObject } from '#sqlpp/values/value.ts';

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown;

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** @throws SyntaxError */
export function valueOfJson(text: string): Value {
  // The reviver is called for every value, so only texts with numbers that may need it have one.
  return plainValue(longDigits.test(text) ? parse(text, exactInteger) : JSON.parse(text));
}

/** Integers of fewer digits are exact anyway. */
const longDigits = /\d{16}/;

/** What JSON.parse gave for values that hold no large integers. */
export function plainValue(json: unknown): Value {
  if (Array.isArray(json)) return json.map(plainValue);
  if (typeof json !== 'object' || json === null) return json as Value;
  const object = newObject();
  for (const [name, value] of Object.entries(json)) object[name] = plainValue(value);
  return object;
}

const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;

const exactInteger: Reviver = (_key, value, { source }) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  if (source === undefined || !/^-?\d+$/.test(source)) return value;
  const integer = BigInt(source);
  return integer < least || integer > most ? value : integer;
};

/** Of our own plain objects: members that are undefined are left out. */
export function asValue(plain: unknown): Value {
  if (Array.isArray(plain)) return plain.map(asValue);
  if (typeof plain !== 'object' || plain === null) return plain as Value;
  const object = newObject();
  for (const [name, member] of Object.entries(plain))
    if (member !== undefined) object[name] = asValue(member);
  return object satisfies ValueObject;
}
