// Operators as functions, and functions that compare.
import { collate, compareStrings } from '../values/collation.ts';
import { compare, equal } from '../values/comparison.ts';
import { integerOf } from '../values/integer-value.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { isArray, isObject, isTrue } from '../values/types.ts';
import { Binary, newObject, type Value } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';
import { escapeCharacter, likePattern } from './like-patterns.ts';

/** Options of a function that handles MISSING and NULL itself, and has these other names. */
const handlingNulls = (...synonyms: string[]): { nulls: 'own'; synonyms: string[] } => ({
  nulls: 'own',
  synonyms,
});

const extreme =
  (sign: 1 | -1): Implementation =>
  (values) => {
    let found: Value = null;
    for (const value of values) {
      if (value === undefined || value === null) continue;
      if (found === null || collate(value, found) * sign > 0) found = value;
    }
    return found;
  };

const ordered =
  (decide: (order: number) => boolean): Implementation =>
  ([a, b]) => {
    const order = compare(a, b);
    return order === null || order === undefined ? order : decide(order);
  };

const between: Implementation = ([value, low, high]) => {
  const [from, to] = [compare(value, low), compare(value, high)];
  if (from === undefined || to === undefined) return undefined;
  return from === null || to === null ? null : from >= 0 && to <= 0;
};

/** The smallest value that collates after the argument. */
function successor(value: Value): Value {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
      return value ? Number.NaN : true;
    case 'bigint':
      return value + 1n;
    case 'string':
      return `${value}\0`;
    case 'number':
      return Number.isInteger(value) && Number.isSafeInteger(value + 1) ? value + 1 : nextNumber(value);
  }
  if (value === null) return false;
  if (isArray(value)) return [...value, null];
  if (value instanceof Binary) return new Binary(new Uint8Array([...value.bytes, 0]));
  return isObject(value) ? Object.assign(newObject(), value, { [nextName(Object.keys(value))]: null }) : null;
}

function nextNumber(value: number): Value {
  if (Number.isNaN(value)) return -Infinity;
  if (value === -Infinity) return -Number.MAX_VALUE;
  if (value >= Number.MAX_VALUE) return '';
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const current = bits.getBigInt64(0);
  bits.setBigInt64(0, value === 0 ? 1n : current + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

function nextName(names: readonly string[]): string {
  const last = [...names].sort(compareStrings).at(-1);
  return last === undefined ? '' : `${last}\0`;
}

const isKnown = (value: Value): boolean => value !== undefined && value !== null;

const and: Implementation = (values) => {
  if (values.some((value) => isKnown(value) && !isTrue(value))) return false;
  return values.includes(undefined) ? undefined : values.includes(null) ? null : true;
};

const or: Implementation = (values) => {
  if (values.some(isTrue)) return true;
  return values.includes(null) ? null : values.includes(undefined) ? undefined : false;
};

const like: Implementation = ([text, pattern, escaping = '\\']) => {
  if (typeof text !== 'string' || typeof pattern !== 'string' || typeof escaping !== 'string') return null;
  return likePattern(pattern, escapeCharacter(escaping))(text);
};

const isIn: Implementation = ([value, list]) => {
  if (!isArray(list)) return null;
  const results = list.map((item) => equal(value, item));
  if (results.includes(true)) return true;
  return results.includes(null) ? null : results.includes(undefined) ? undefined : false;
};

function descendants(value: Value): Value[] {
  const items = isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  countSteps(listedSteps * items.length);
  return items.flatMap((item) => [item, ...descendants(item)]);
}

const within: Implementation = ([value, list], context, memo) =>
  isArray(list) || isObject(list) ? isIn([value, descendants(list)], context, memo) : null;

export const comparisons = new Declarations('comparison')
  .add(
    'greatest',
    'value, value [, value …]',
    'The largest value that is neither NULL nor MISSING.',
    extreme(1),
    handlingNulls(),
  )
  .add(
    'least',
    'value, value [, value …]',
    'The smallest value that is neither NULL nor MISSING.',
    extreme(-1),
    handlingNulls(),
  )
  .add(
    'successor',
    'value',
    'The smallest value that collates after the argument.',
    ([value]) => successor(value),
    handlingNulls(),
  );

export const operators = new Declarations('operator')
  .add('and', 'condition, condition [, condition …]', 'As the operator AND.', and, handlingNulls())
  .add('or', 'condition, condition [, condition …]', 'As the operator OR.', or, handlingNulls())
  .add('not', 'condition', 'As the operator NOT.', ([value]) => !isTrue(value))
  .add('eq', 'value, value', 'As the operator `=`.', ([a, b]) => equal(a, b), handlingNulls())
  .add(
    'lt',
    'value, value',
    'As the operator `<`.',
    ordered((order) => order < 0),
    handlingNulls(),
  )
  .add(
    'le',
    'value, value',
    'As the operator `<=`.',
    ordered((order) => order <= 0),
    handlingNulls(),
  )
  .add('between', 'value, low, high', 'As the operator BETWEEN.', between, handlingNulls())
  .add('like', 'string, pattern [, escape]', 'As the operator LIKE.', like)
  .add('in', 'value, array', 'As the operator IN.', isIn, { nulls: 'onlyMissing' })
  .add('within', 'value, container', 'As the operator WITHIN.', within, { nulls: 'onlyMissing' })
  .add('exists', 'array', 'Whether the array has items.', ([items]) =>
    isArray(items) ? items.length > 0 : null,
  )
  .add('isnull', 'value', 'As IS NULL.', ([value]) => value === null, {
    nulls: 'onlyMissing',
    synonyms: ['is_null'],
  })
  .add('isnotnull', 'value', 'As IS NOT NULL.', ([value]) => value !== null, {
    nulls: 'onlyMissing',
    synonyms: ['is_not_null'],
  })
  .add('ismissing', 'value', 'As IS MISSING.', ([value]) => value === undefined, handlingNulls('is_missing'))
  .add(
    'isnotmissing',
    'value',
    'As IS NOT MISSING.',
    ([value]) => value !== undefined,
    handlingNulls('is_not_missing'),
  )
  .add(
    'isvalued',
    'value',
    'As IS VALUED.',
    ([value]) => isKnown(value),
    handlingNulls('is_valued', 'isknown', 'is_known', 'isnotunknown', 'is_not_unknown'),
  )
  .add(
    'isnotvalued',
    'value',
    'As IS NOT VALUED.',
    ([value]) => !isKnown(value),
    handlingNulls('is_not_valued', 'isnotknown', 'is_not_known', 'isunknown'),
  )
  .add('array', '[value …]', 'An array of the arguments.', (values) => values, handlingNulls())
  .add('element', 'array, position', 'As `array[position]`.', element, { nulls: 'onlyMissing' })
  .add('field', 'object, name', 'As `object.name`.', field, { nulls: 'onlyMissing' })
  .add('slice', 'array [, start, end]', 'As `array[start:end]`.', slice);

function element([items, position]: readonly Value[]): Value {
  const at = integerOf(position);
  if (at === undefined) return null;
  return isArray(items) ? items.at(at) : undefined;
}

function field([object, name]: readonly Value[]): Value {
  if (typeof name !== 'string') return null;
  return isObject(object) ? object[name] : undefined;
}

function slice([items, start = 0, end]: readonly Value[]): Value {
  const first = integerOf(start);
  if (!isArray(items) || first === undefined) return null;
  const last = end === undefined ? items.length : integerOf(end);
  if (last === undefined) return null;
  const from = first < 0 ? items.length + first : first;
  const to = last < 0 ? items.length + last : last;
  return from < 0 || from > to || to > items.length ? undefined : items.slice(from, to);
}
