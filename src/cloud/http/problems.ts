// What is wrong with a body or a query, in one clause for each field: where, and what would be right.
import type { z } from 'zod';

type Issue = z.core.$ZodIssue;

/** `given` is what was validated: it tells a missing field from a wrong one. */
export const problemsOf = (issues: readonly Issue[], given: unknown, kind: string): string =>
  issues
    .flatMap(leavesOf)
    .map((issue) => describe(issue, given, kind))
    .join('; ');

/** Of a union, the form that was most nearly met. */
function leavesOf(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const forms = issue.errors.map((form) => form.map((inner) => within(issue.path, inner)).flatMap(leavesOf));
  return forms.reduce((best, form) => (distance(form) < distance(best) ? form : best));
}

const within = (path: readonly PropertyKey[], issue: Issue): Issue => ({
  ...issue,
  path: [...path, ...issue.path],
});

const distance = (issues: readonly Issue[]): number =>
  issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);

function describe(issue: Issue, given: unknown, kind: string): string {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${path === '' ? '' : `${path}.`}${key}: unknown ${kind}`).join('; ');
  const missing = valueAt(given, issue.path) === undefined ? 'is missing: it ' : '';
  return `${path === '' ? 'body' : path}: ${missing}${right(issue)}`;
}

/** A rule's own message, or one for the forms that have none. */
function right(issue: Issue): string {
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[key];
  }
  return at;
}
