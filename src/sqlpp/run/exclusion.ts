// EXCLUDE: removes paths from result objects.
import type { Expression } from '../tree/expression.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import type { Run } from './run.ts';

/** What is removed from an object, by the names of its members: null: the member, else parts of it. */
type Excluded = Map<string, Excluded | null>;

export function compileExclusion(paths: readonly Expression[]): (run: Run, row: ValueObject) => Value {
  const excluded: Excluded = new Map();
  for (const path of paths) addPath(excluded, namesOf(path));
  return (run, row) => without(run, row, excluded);
}

function addPath(into: Excluded, names: readonly string[]): void {
  let excluded = into;
  for (const [at, name] of names.entries()) {
    const known = excluded.get(name);
    if (known === null) return;
    if (at === names.length - 1) {
      excluded.set(name, null);
      return;
    }
    const inner: Excluded = known ?? new Map();
    excluded.set(name, inner);
    excluded = inner;
  }
}

/** The names of a path such as `a.b`. Empty for any other expression, which excludes nothing. */
function namesOf(path: Expression): string[] {
  if (path.kind === 'identifier') return [path.name];
  if (path.kind !== 'field' || path.name.kind !== 'constant' || typeof path.name.value !== 'string')
    return [];
  const outer = namesOf(path.of);
  return outer.length > 0 ? [...outer, path.name.value] : [];
}

function without(run: Run, value: Value, excluded: Excluded): Value {
  const object = run.resolve(value);
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return value;
  const members = object as ValueObject;
  const names = Object.keys(members);
  if (!names.some((name) => excluded.has(name))) return value;
  countSteps(listedSteps * names.length);
  const copy = newObject();
  for (const name of names) {
    const inner = excluded.get(name);
    if (inner === undefined) copy[name] = members[name];
    else if (inner !== null) copy[name] = without(run, members[name], inner);
  }
  return copy;
}
