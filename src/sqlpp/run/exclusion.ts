// EXCLUDE: removes paths from result objects.
import type { Expression } from '../tree/query.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import type { Run } from './run.ts';

export function compileExclusion(paths: readonly Expression[]): (run: Run, row: ValueObject) => Value {
  const excluded = paths.map(namesOf).filter((path) => path.length > 0);
  return (run, row) => excluded.reduce<Value>((value, path) => without(run, value, path), row);
}

/** The names of a path such as `a.b`. Empty for any other expression, which excludes nothing. */
function namesOf(path: Expression): string[] {
  if (path.kind === 'identifier') return [path.name];
  if (path.kind !== 'field' || path.name.kind !== 'constant' || typeof path.name.value !== 'string')
    return [];
  const outer = namesOf(path.of);
  return outer.length > 0 ? [...outer, path.name.value] : [];
}

function without(run: Run, value: Value, [first, ...rest]: readonly string[]): Value {
  const object = run.resolve(value);
  if (first === undefined || typeof object !== 'object' || object === null || Array.isArray(object))
    return value;
  const members = object as ValueObject;
  if (!(first in members)) return value;
  const copy = newObject();
  for (const name of Object.keys(members)) {
    if (name !== first) copy[name] = members[name];
    else if (rest.length > 0) copy[name] = without(run, members[name], rest);
  }
  return copy;
}
