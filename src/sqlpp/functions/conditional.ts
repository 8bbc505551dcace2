// Functions that choose among their arguments.
import { collate } from '../values/collation.ts';
import { equal } from '../values/comparison.ts';
import { isNumber } from '../values/types.ts';
import type { Value } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';

/** Options of a function that handles MISSING and NULL itself, and has these other names. */
const handlingNulls = (...synonyms: string[]): { nulls: 'own'; synonyms: string[] } => ({
  nulls: 'own',
  synonyms,
});

/** The first accepted argument, else NULL. */
const first =
  (isAccepted: (value: Value) => boolean): Implementation =>
  (values) => {
    const found = values.find(isAccepted);
    // `undefined`: none was accepted, or the accepted one is MISSING.
    return found === undefined && !values.some((value) => value === undefined && isAccepted(value))
      ? null
      : found;
  };

/** The first accepted number. An earlier argument that is not a number gives NULL; a MISSING argument gives MISSING. */
const firstNumber =
  (isAccepted: (value: number) => boolean): Implementation =>
  (values) => {
    let isMissing = false;
    for (const value of values) {
      if (value === undefined) isMissing = true;
      else if (!isNumber(value)) return null;
      else if (isAccepted(Number(value))) return value;
    }
    return isMissing ? undefined : null;
  };

/** `result` if both are equal, else the first. */
const insteadOf =
  (result: Value): Implementation =>
  ([value, other]) => {
    const isEqual = equal(value, other);
    return isEqual === true ? result : isEqual === false ? value : isEqual;
  };

const decode: Implementation = ([value, ...others]) => {
  const defaultResult = others.length % 2 === 1 ? others.at(-1) : null;
  for (let at = 0; at + 1 < others.length; at += 2) {
    if (collate(value, others[at]) === 0) return others[at + 1];
  }
  return defaultResult;
};

const isKnown = (value: Value): boolean => value !== undefined && value !== null;

export const conditional = new Declarations('conditional')
  .add(
    'ifmissing',
    'value, other [, other …]',
    'The first argument that is not MISSING.',
    first((value) => value !== undefined),
    handlingNulls('if_missing'),
  )
  .add(
    'ifnull',
    'value, other [, other …]',
    'The first argument that is not NULL.',
    first((value) => value !== null),
    handlingNulls('if_null'),
  )
  .add(
    'ifmissingornull',
    'value, other [, other …]',
    'The first argument that is neither MISSING nor NULL.',
    first(isKnown),
    handlingNulls('if_missing_or_null', 'coalesce'),
  )
  .add(
    'missingif',
    'value, other',
    'MISSING if both are equal, else the first.',
    insteadOf(undefined),
    handlingNulls('missing_if'),
  )
  .add(
    'nullif',
    'value, other',
    'NULL if both are equal, else the first.',
    insteadOf(null),
    handlingNulls('null_if'),
  )
  .add(
    'nvl',
    'value, other',
    'The first argument if it is neither MISSING nor NULL, else the second.',
    ([value, other]) => (isKnown(value) ? value : other),
    handlingNulls(),
  )
  .add(
    'nvl2',
    'value, if_known, if_unknown',
    'The second argument if the first is neither MISSING nor NULL, else the third.',
    ([value, ifKnown, ifUnknown]) => (isKnown(value) ? ifKnown : ifUnknown),
    handlingNulls(),
  )
  .add(
    'decode',
    'value, search, result [, search, result …] [, default]',
    'The result after the first search that equals the value; if none does, the default, or NULL without one.',
    decode,
    handlingNulls(),
  )
  .add(
    'ifinf',
    'number, other [, other …]',
    'The first number that is not infinite.',
    firstNumber((value) => Math.abs(value) !== Infinity),
    handlingNulls('if_inf'),
  )
  .add(
    'ifnan',
    'number, other [, other …]',
    'The first number that is not NaN.',
    firstNumber((value) => !Number.isNaN(value)),
    handlingNulls('if_nan'),
  )
  .add(
    'ifnanorinf',
    'number, other [, other …]',
    'The first number that is neither NaN nor infinite.',
    firstNumber(Number.isFinite),
    handlingNulls('if_nan_or_inf'),
  )
  .add(
    'nanif',
    'value, other',
    'NaN if both are equal, else the first.',
    insteadOf(Number.NaN),
    handlingNulls('nan_if'),
  )
  .add(
    'neginfif',
    'value, other',
    'Negative infinity if both are equal, else the first.',
    insteadOf(-Infinity),
    handlingNulls('neginf_if'),
  )
  .add(
    'posinfif',
    'value, other',
    'Infinity if both are equal, else the first.',
    insteadOf(Infinity),
    handlingNulls('posinf_if'),
  );
