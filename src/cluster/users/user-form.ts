// Reads the forms of users and groups. Problems are gathered by field, so that all are reported at once.
import { readLimits, type UserLimits, userLimitNames } from '#auth/user-limits.ts';
import { fieldText } from '#contract/field-text.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { Form } from '#contract/route.ts';

const textCharactersMax = 1_024;

export function unsupported(form: Form, knownNames: readonly string[]): Record<string, string> {
  const unknown = Object.keys(form).filter((name) => !knownNames.includes(name));
  return Object.fromEntries(unknown.map((name) => [name, fieldText.unsupported]));
}

/** Undefined: not sent; null: sent without a limit, which removes those that the user has. */
export function readUserLimits(form: Form, problems: Record<string, string>): UserLimits | null | undefined {
  const sent = form['limits'];
  if (sent === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(sent);
  } catch {
    problems['limits'] = 'Invalid JSON';
    return undefined;
  }
  const read = readLimits(parsed, userLimitNames);
  if ('limits' in read) return read.limits;
  problems['limits'] = read.problem;
  return undefined;
}

/** Null: not sent. */
export function readText(form: Form, name: string, problems: Record<string, string>): string | null {
  const text = form[name];
  if (text === undefined) return null;
  if (text.length > textCharactersMax) {
    problems[name] = `The value must not be longer than ${textCharactersMax} characters`;
  }
  return text;
}

export function throwIfAny(problems: Record<string, string>): void {
  if (Object.keys(problems).length > 0) throw generalRefusals.invalidFields(problems);
}
