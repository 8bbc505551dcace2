// A parameter as sent in a form or as JSON, and its conversion to the required type.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { parseDuration } from './duration.ts';
import { TooDeepError } from './value-of-json.ts';

/** Forms and query strings contain texts, JSON any value. */
export interface SentValue {
  readonly name: string;
  readonly value: unknown;
  readonly isText: boolean;
}

export function textOf({ name, value, isText }: SentValue): string {
  if (typeof value === 'string') return isText ? value.trim() : value;
  throw sqlError(1070, name, 'string');
}

export function flagOf(sent: SentValue): boolean | null {
  const { name, value, isText } = sent;
  if (!isText) {
    if (typeof value === 'boolean') return value;
    throw sqlError(1070, name, 'boolean');
  }
  const text = textOf(sent);
  if (text === '') return null;
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw badValue(name, 'unable to parse tristate as a boolean');
}

/** In JSON, too, a number may be sent as a string. */
export function wholeOf({ name, value, isText }: SentValue): number {
  const text = typeof value === 'string' ? (isText ? value.trim() : value) : null;
  const number = text !== null && /^[+-]?\d+$/.test(text) ? Number(text) : value;
  if (typeof number === 'number' && Number.isFinite(number)) return Math.trunc(number);
  throw badValue(name, `${name} is invalid`);
}

export function durationOf(sent: SentValue): number {
  const text = textOf(sent);
  if (text === '') return 0;
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw badValue(sent.name, `${JSON.stringify(text)} is not a duration such as 500ms or 1m15s`);
}

/** A JSON value; in forms its text. */
export function jsonOf({ name, value, isText }: SentValue): unknown {
  if (!isText) return value;
  try {
    return JSON.parse(value as string);
  } catch {
    throw badValue(name, 'the value is not JSON');
  }
}

/** Calls `read`. If that fails because the text is not JSON, the error has `problem` as its reason. */
export function jsonValue<T>(name: string, read: () => T, problem = 'the value is not JSON'): T {
  try {
    return read();
  } catch (error) {
    throw badValue(name, error instanceof TooDeepError ? error.message : problem);
  }
}

export const badValue = (name: string, reason: string) => sqlError(1040, `${name}: ${reason}`);
