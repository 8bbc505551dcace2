// Renders validation problems of a body or query: one clause per field with its place and what would be right.
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** A body of a megabyte can have hundreds of thousands of problems. */
const listedMax = 50;

/** `input` is the validated value; it distinguishes a missing field from a wrong one. */
export function problemsOf(issues: readonly Issue[], input: unknown, kind: string): string {
  const leaves = issues.flatMap(leavesOf).flatMap(oneByOne);
  const listed = leaves.slice(0, listedMax).map((issue) => describe(issue, input, kind));
  const more = leaves.length - listed.length;
  return [...listed, ...(more > 0 ? [`and ${more} more ${more === 1 ? 'problem' : 'problems'}`] : [])].join(
    '; ',
  );
}

/** An issue for each unknown field. */
const oneByOne = (issue: Issue): Issue[] =>
  issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue];

/** The distance of a value that is no object (or list) where the form is one: above the distance of any object with wrong fields. */
const otherTypeDistance = 1_000_000;

/** For a union, the problems of the form to which the value is closest; for any other issue, the issue itself. */
function leavesOf(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const forms = issue.errors.map((form) => form.map((inner) => within(issue.path, inner)).flatMap(leavesOf));
  const distance = (form: Issue[]): number => distanceOf(form, issue.path.length);
  return forms.reduce((best, form) => (distance(form) < distance(best) ? form : best));
}

const within = (path: readonly PropertyKey[], issue: Issue): Issue => ({
  ...issue,
  path: [...path, ...issue.path],
});

/** How far a value is from one form of a union: the number of its problems. `depth`: path length of the form. */
const distanceOf = (issues: readonly Issue[], depth: number): number =>
  issues.reduce((sum, issue) => {
    if (issue.code === 'unrecognized_keys') return sum + issue.keys.length;
    return sum + (issue.code === 'invalid_type' && issue.path.length === depth ? otherTypeDistance : 1);
  }, 0);

function describe(issue: Issue, input: unknown, kind: string): string {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${path === '' ? '' : `${path}.`}${key}: unknown ${kind}`).join('; ');
  const missing = valueAt(input, issue.path) === undefined ? 'is missing: it ' : '';
  return `${path === '' ? 'body' : path}: ${missing}${expectationOf(issue)}`;
}

/** What would be right: the message of the rule, or a default one for its kind. */
function expectationOf(issue: Issue): string {
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<PropertyKey, unknown>)[key];
  }
  return found;
}
