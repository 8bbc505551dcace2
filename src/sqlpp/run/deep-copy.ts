// Copies of documents that a statement changes: values that rows have in common must not be changed.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { Binary, newObject, RawJson, type Value, type ValueObject } from '../values/value.ts';

/** The objects and arrays that belong to the changed document alone, so that they can be changed in place. */
export type Copies = Set<object>;

/** The members that are copied between two pauses for other requests. */
const membersPerStep = 4_096;

type Members = Record<string | number, Value>;

interface OpenCopy {
  readonly from: Members;
  readonly to: Members;
  /** Undefined: an array. */
  readonly names: readonly string[] | undefined;
}

export const deepCopy = (value: Value, copies: Copies): Value => resultOf(deepCopyInSteps(value, copies));

/** A copy of all nested values, which belong to the document alone. Pauses also within an object that has very many members. */
export function* deepCopyInSteps(value: Value, copies: Copies): WorkSteps<Value> {
  if (!hasMembers(value)) return value;
  const root = openCopy(value, copies);
  const open = [root];
  let visited = 0;
  for (let copy = open.pop(); copy !== undefined; copy = open.pop()) {
    const { from, to, names } = copy;
    countSteps(listedSteps * (names ?? (from as unknown as Value[])).length);
    const isWide = isWideObject(names);
    for (const name of names ?? (from as unknown as Value[]).keys()) {
      if (++visited % membersPerStep === 0) yield;
      const member: Value = from[name];
      if (hasMembers(member)) {
        const next = openCopy(member, copies);
        to[name] = next.to as Value;
        open.push(next);
      } else if (isWide) to[name] = member;
    }
  }
  return root.to as Value;
}

const isWideObject = (names: readonly string[] | undefined): boolean =>
  names !== undefined && names.length > membersPerStep;

/** A copy that still has the members of the value, or none if they are very many; the value itself if it belongs to the document already. */
function openCopy(value: readonly Value[] | ValueObject, copies: Copies): OpenCopy {
  const from = value as Members;
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  if (copies.has(value)) return { from, to: from, names };
  const copy =
    names === undefined
      ? [...(value as Value[])]
      : isWideObject(names)
        ? newObject()
        : Object.assign(newObject(), value);
  copies.add(copy);
  return { from, to: copy as Members, names };
}

export const hasMembers = (value: Value): value is readonly Value[] | ValueObject =>
  typeof value === 'object' && value !== null && !(value instanceof Binary) && !(value instanceof RawJson);
