// Settings describe their values in words, for people. Descriptions of a known form are converted to JSON Schema.
import type { JsonSchema } from '#contract/json-schema.ts';
import { type Change, type Effect, missingFeatures, type Setting } from '../settings/setting.ts';

export function settingSchema(setting: Setting): JsonSchema {
  const fallback = /^(?:`([^`]*)`|(-?\d+(?:\.\d+)?))$/.exec(setting.default);
  const value = fallback ? (fallback[1] ?? fallback[2]) : undefined;
  const schema = accepted(setting.range);
  return {
    ...schema,
    ...(value !== undefined && { default: isNumber(schema, value) ? Number(value) : value }),
    description: describe(setting),
  };
}

const isNumber = ({ type, anyOf }: JsonSchema, value: string): boolean =>
  (type === 'integer' || anyOf?.[0]?.type === 'integer') && /^-?\d+$/.test(value);

/** `0–16`, `256 and up`, or names in backticks. */
function accepted(range: string): JsonSchema {
  const between = /^(-?\d+)–(\d+)$/.exec(range);
  if (between) return { type: 'integer', minimum: Number(between[1]), maximum: Number(between[2]) };
  const from = /^(\d+) and up$/.exec(range);
  if (from) return { type: 'integer', minimum: Number(from[1]) };
  if (/^`[^`]+`(, `[^`]+`)+$/.test(range))
    return { type: 'string', enum: range.split(', ').map((literal) => literal.slice(1, -1)) };
  return mixed(range) ?? number(range) ?? { type: 'string' };
}

/** Numbers or some words: `0–9, empty`, `` `default`, 1–64 ``. */
function mixed(range: string): JsonSchema | null {
  const parts = range.split(', ');
  const words = parts.filter((part) => part === 'empty' || /^`[^`]+`$/.test(part));
  if (words.length === 0 || words.length !== parts.length - 1) return null;
  const rest = parts.filter((part) => !words.includes(part)).map(accepted);
  if (rest[0]?.type !== 'integer') return null;
  const texts = words.map((word) => (word === 'empty' ? '' : word.slice(1, -1)));
  return { anyOf: [rest[0], { type: 'string', enum: texts }] };
}

/** A number followed by further words, which say what the bounds depend on. */
function number(range: string): JsonSchema | null {
  if (/^\d+(–\d+)? (bytes|characters|addresses)/.test(range)) return null;
  const between = /^(\d+)–(\d+)(;| seconds)/.exec(range);
  if (between) return { type: 'integer', minimum: Number(between[1]), maximum: Number(between[2]) };
  if (/^\d+, \d+; other numbers/.test(range)) return { type: 'integer' };
  const from = /^(\d+) (?:\([^)]*\) )?up to /.exec(range);
  return from ? { type: 'integer', minimum: Number(from[1]) } : null;
}

function describe({ range, default: fallback, change, effect, note }: Setting): string {
  const parts = [`Accepted: ${range}.`, `Default: ${fallback}.`, changeTexts[change], effectText(effect)];
  return [...parts, note === undefined ? '' : `${note}.`].filter((part) => part !== '').join(' ');
}

const changeTexts: Readonly<Record<Change, string>> = {
  live: '',
  'bucket restart': 'A change restarts the bucket.',
  'bucket start': 'A change takes effect when the bucket starts next.',
  'creation only': 'Cannot be changed later.',
  'before provisioning': 'Can be changed only before the node is provisioned.',
};

function effectText(effect: Effect): string {
  if (effect === 'effective') return '';
  if (effect === 'fixed') return 'No other value is accepted.';
  if (effect === 'kept') return 'The value is stored and has no effect.';
  return `The value is stored and has no effect: this version does not have ${missingFeatures[effect]}.`;
}
