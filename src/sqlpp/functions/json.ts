// Functions of JSON text, sizes and encodings.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { memberNames } from '../values/collation.ts';
import { JsonError, parseJsonText } from '../values/json-parse.ts';
import { parseInSteps } from '../values/json-steps.ts';
import { jsonText, stringText } from '../values/json-text.ts';
import { countSteps, countText, listedSteps, writtenSteps } from '../values/step-limit.ts';
import { isArray, isObject } from '../values/types.ts';
import { Binary, RawJson, type Value, type ValueObject } from '../values/value.ts';
import { mayBeLong } from './array-star.ts';
import { byteLength } from './bytes.ts';
import { Declarations, type Implementation, type StepsOf } from './declaration.ts';
import { hashBytes } from './hashing.ts';
import { toText } from './types.ts';

const handlingNulls = { nulls: 'own' } as const;

const decode: Implementation = ([text]) => {
  if (typeof text !== 'string' || text.trim() === '') return null;
  try {
    return parseJsonText(text);
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
};

const encode = (value: Value): string => (value === undefined ? 'null' : jsonText(value));

/** Longer texts are decoded in steps. */
const shortText = 64 << 10;

const decodeSteps: StepsOf = ([text]) =>
  typeof text === 'string' && text.length > shortText ? decodeInSteps(text) : null;

function* decodeInSteps(text: string): WorkSteps<Value> {
  const bytes = new TextEncoder().encode(text);
  try {
    return yield* parseInSteps(new RawJson(bytes, 0, bytes.length));
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

const encodeSteps: StepsOf = ([value]) => (mayBeLong(value) ? encodeInSteps(value) : null);

/** Items whose text is made in one step. */
const encodedAtOnce = 256;

function* encodeInSteps(value: Value): WorkSteps<string> {
  const parts: string[] = [];
  if (isArray(value))
    for (let at = 0; at < value.length; at += encodedAtOnce) {
      yield;
      parts.push(jsonText(value.slice(at, at + encodedAtOnce)).slice(1, -1));
    }
  else {
    const object = value as ValueObject;
    for (const name of memberNames(object)) {
      const member = object[name];
      if (member === undefined) continue;
      const text = mayBeLong(member) ? yield* encodeInSteps(member) : jsonText(member);
      parts.push(`${stringText(name)}:${text}`);
    }
  }
  const text = parts.join(',');
  countText(text.length);
  return isArray(value) ? `[${text}]` : `{${text}}`;
}

const polyLength: Implementation = ([value]) => {
  if (typeof value === 'string') return byteLength(value);
  return isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : null;
};

const len: Implementation = ([value]) => {
  if (value instanceof Binary) return value.bytes.length;
  if (typeof value === 'boolean') return 1;
  if (typeof value === 'number' || typeof value === 'bigint') return String(toText(value)).length;
  return polyLength([value], undefined as never, {});
};

/** Items and members of one value that PAIRS visits in one step. */
const pairedAtOnce = 512;

/** Adds a pair for each nested member, and for each item of a member that is an array. */
function* pairsInSteps(value: Value, list: Value[]): WorkSteps<Value> {
  let visited = 0;
  if (isArray(value)) {
    countSteps(listedSteps * value.length);
    for (const item of value) {
      if (++visited % pairedAtOnce === 0) yield;
      if (isNested(item)) yield* pairsInSteps(item, list);
    }
  } else if (isObject(value)) {
    const names = memberNames(value);
    countSteps(writtenSteps * names.length);
    for (const name of names) {
      if (++visited % pairedAtOnce === 0) yield;
      const member = value[name];
      list.push([name, member]);
      if (isArray(member)) addItemPairs(name, member, list);
      if (isNested(member)) yield* pairsInSteps(member, list);
    }
  }
  return list;
}

const isNested = (value: Value): boolean => isArray(value) || isObject(value);

const pairs: Implementation = ([value]) => (isNested(value) ? resultOf(pairsInSteps(value, [])) : null);

const pairsSteps: StepsOf = ([value]) => (mayBeLong(value) ? pairsInSteps(value, []) : null);

function addItemPairs(name: string, items: readonly Value[], list: Value[]): void {
  countSteps(writtenSteps * items.length);
  for (const item of items) list.push([name, item]);
}

/** A character that base64 does not have before its padding. A pattern of all characters would exceed the stack for a long text. */
const notBase64 = /[^A-Za-z0-9+/]/;

const base64Decode: Implementation = ([text]) => {
  if (typeof text !== 'string' || text.length % 4 !== 0) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (notBase64.test(text.slice(0, text.length - padding))) return null;
  const bytes = Buffer.from(text, 'base64');
  try {
    return parseJsonText(bytes.toString());
  } catch (error) {
    if (error instanceof JsonError) return new Binary(bytes);
    throw error;
  }
};

const base64Encode: Implementation = ([value]) =>
  Buffer.from(value instanceof Binary ? value.bytes : encode(value)).toString('base64');

const abort: Implementation = ([text]) => {
  throw sqlError(5011, typeof text === 'string' ? text : encode(text));
};

export const json = new Declarations('json')
  .add('json_decode', 'string', 'The value of JSON text; NULL for other text.', decode, {
    synonyms: ['decode_json'],
    steps: decodeSteps,
  })
  .add('json_encode', 'value', 'The value as JSON text.', ([value]) => encode(value), {
    nulls: 'own',
    synonyms: ['encode_json'],
    steps: encodeSteps,
  })
  .add(
    'encoded_size',
    'value',
    'How many bytes the value has as JSON text.',
    ([value]) => byteLength(encode(value)),
    handlingNulls,
  )
  .add('pairs', 'value', 'Arrays of name and value of all members in all depths.', pairs, {
    steps: pairsSteps,
  })
  .add(
    'poly_length',
    'value',
    'How many bytes, items or members a string, an array or an object has.',
    polyLength,
  )
  .add('len', 'value', 'Like POLY_LENGTH; for a boolean 1, for a number the length of its text.', len)
  .add('base64_encode', 'value', 'The bytes of the value as JSON text, in base64.', base64Encode, {
    nulls: 'onlyMissing',
    synonyms: ['base64', 'encode_base64'],
  })
  .add(
    'base64_decode',
    'string',
    'The value whose JSON text is in base64, binary if the bytes are not JSON; NULL for other text.',
    base64Decode,
    { synonyms: ['decode_base64'] },
  )
  .add(
    'hashbytes',
    'value [, options]',
    'The hash of a value in hexadecimal; `algorithm` is sha256 unless the options name another.',
    hashBytes,
    handlingNulls,
  )
  .add('abort', 'message', 'Ends the statement with error 5011.', abort, handlingNulls);
