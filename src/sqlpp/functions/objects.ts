// Functions of objects. Other arguments give NULL.
import { compareStrings, memberNames } from '../values/collation.ts';
import { equal } from '../values/comparison.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isArray, isObject } from '../values/types.ts';
import { newObject, setMember, type Value, type ValueObject } from '../values/value.ts';
import { Declarations, type Implementation } from './declaration.ts';
import { filtered, pairsNested, paths } from './object-paths.ts';
import { RegularExpression } from './regular-expressions.ts';

const missing = { nulls: 'onlyMissing' } as const;
const synonyms = (...list: string[]): { synonyms: string[] } => ({ synonyms: list });

const ofObject =
  (compute: (object: ValueObject) => Value): Implementation =>
  ([object]) =>
    isObject(object) ? compute(object) : null;

function copyOf(object: ValueObject): Record<string, Value> {
  return Object.assign(newObject(), object);
}

function pairOf(name: string, value: Value): ValueObject {
  const pair = newObject();
  pair['name'] = name;
  setMember(pair, 'val', value);
  return pair;
}

const add: Implementation = ([object, name, value]) => {
  if (object === undefined || name === undefined) return undefined;
  if (!isObject(object) || typeof name !== 'string') return null;
  if (object[name] !== undefined || value === undefined) return object;
  return put([object, name, value], undefined as never, {});
};

/** A MISSING value removes the member. */
const put: Implementation = ([object, name, value]) => {
  if (object === undefined || name === undefined) return undefined;
  if (!isObject(object) || typeof name !== 'string') return null;
  const copy = copyOf(object);
  setMember(copy, name, value);
  return copy;
};

const concat: Implementation = (values) =>
  values.every(isObject) ? Object.assign(newObject(), ...values) : null;

const remove: Implementation = ([object, ...names]) => {
  if (!isObject(object) || !names.every((name) => typeof name === 'string')) return null;
  const removed = new Set<Value>(names);
  const copy = newObject();
  for (const name of Object.keys(object)) if (!removed.has(name)) copy[name] = object[name];
  return copy;
};

const rename: Implementation = ([object, name, other]) => {
  if (!isObject(object) || typeof name !== 'string' || typeof other !== 'string') return null;
  if (object[name] === undefined) return object;
  const copy = copyOf(object);
  delete copy[name];
  copy[other] = object[name];
  return copy;
};

const replace: Implementation = ([object, searched, by]) => {
  if (object === undefined || searched === undefined) return undefined;
  if (!isObject(object) || searched === null) return null;
  const copy = newObject();
  for (const name of Object.keys(object))
    setMember(copy, name, equal(searched, object[name]) === true ? by : object[name]);
  return copy;
};

/** Replaces arrays with a single item (not counting MISSING) by the item. As published, an object with one member stays as it is. */
function inner(object: ValueObject): ValueObject {
  if (Object.keys(object).length === 1) return object;
  const copy = newObject();
  for (const name of Object.keys(object)) {
    const value = object[name];
    const items = isArray(value) ? value.filter((item) => item !== undefined) : undefined;
    copy[name] = items === undefined ? value : items.length === 1 ? items[0] : items;
  }
  return copy;
}

const pairs = (object: ValueObject): Value => memberNames(object).map((name) => pairOf(name, object[name]));
const values = (object: ValueObject): Value => memberNames(object).map((name) => object[name]);

/** Pairs whose name lies between `min` and `max`, or matches `pattern`. */
const extract: Implementation = ([object, options]) => {
  if (!isObject(object) || (options !== undefined && !isObject(options))) return null;
  const text = (name: string): string =>
    typeof options?.[name] === 'string' ? (options[name] as string) : '';
  const [min, max] = [text('min'), text('max')];
  const pattern = min === '' && max === '' ? text('pattern') : '';
  const expression = pattern === '' ? undefined : new RegularExpression(pattern);
  const isWanted = (name: string): boolean =>
    expression !== undefined
      ? expression.test(name)
      : (min === '' || compareStrings(min, name) <= 0) && (max === '' || compareStrings(max, name) > 0);
  return memberNames(object)
    .filter(isWanted)
    .map((name) => pairOf(name, object[name]));
};

/** A path of names and positions: `a.b[0]`. */
const field: Implementation = ([object, path]) => {
  if (!isObject(object) || typeof path !== 'string') return null;
  let value: Value = object;
  let isEmpty = true;
  for (const [step] of path.matchAll(/`(?:[^`]|``)*`|[^.[\]]+/g)) {
    isEmpty = false;
    countSteps(writtenSteps);
    if (isArray(value) && /^-?\d+$/.test(step)) value = value.at(Number(step));
    else if (isObject(value))
      value = value[step.startsWith('`') ? step.slice(1, -1).replaceAll('``', '`') : step.trim()];
    else return undefined;
  }
  return isEmpty ? null : value;
};

export const objects = new Declarations('object')
  .add(
    'object_add',
    'object, name, value',
    'The object with an additional member, unless it has one of this name.',
    add,
    { nulls: 'own' },
  )
  .add(
    'object_concat',
    'object, object [, object …]',
    'The members of all objects; of members with the same name the last.',
    concat,
    missing,
  )
  .add(
    'object_extract',
    'object [, options]',
    'Names and values of members whose names lie from `min` to below `max`, or match `pattern`.',
    extract,
  )
  .add('object_field', 'object, path', 'The value that a path leads to: `a.b[0]`.', field)
  .add(
    'object_filter',
    'object [, options]',
    'The object with only those members, in all depths, whose names match the pattern of the options.',
    filtered,
  )
  .add(
    'object_innerpairs',
    'object',
    'Names and values of the members in order of names; an array of one item is replaced by the item, except in an object with one member.',
    ofObject((object) => pairs(inner(object))),
    synonyms('object_inner_pairs'),
  )
  .add(
    'object_innervalues',
    'object',
    'The values in order of names; an array of one item is replaced by the item, except in an object with one member.',
    ofObject((object) => values(inner(object))),
    synonyms('object_inner_values'),
  )
  .add(
    'object_length',
    'object',
    'How many members the object has.',
    ofObject((object) => Object.keys(object).length),
  )
  .add('object_names', 'object', 'The names of the members in order.', ofObject(memberNames))
  .add(
    'object_pairs',
    'object',
    'Names and values of the members in order of names.',
    ofObject(pairs),
    synonyms('object_outerpairs', 'object_outer_pairs'),
  )
  .add(
    'object_pairs_nested',
    'value [, options]',
    'Paths and values of everything in an object or array.',
    pairsNested,
  )
  .add('object_paths', 'value [, options]', 'The paths of everything in an object or array.', paths)
  .add('object_put', 'object, name, value', 'The object with this member; MISSING removes it.', put, {
    nulls: 'own',
  })
  .add('object_remove', 'object, name [, name …]', 'The object without these members.', remove)
  .add('object_rename', 'object, name, name', 'The object with a member renamed.', rename, missing)
  .add('object_replace', 'object, searched, by', 'The object with one value replaced by another.', replace, {
    nulls: 'own',
  })
  .add(
    'object_unwrap',
    'object',
    'The value of the only member; NULL for an object with none or several.',
    ofObject((object) => (Object.keys(object).length === 1 ? Object.values(object)[0] : null)),
  )
  .add(
    'object_values',
    'object',
    'The values in order of names.',
    ofObject(values),
    synonyms('object_outervalues', 'object_outer_values'),
  );
