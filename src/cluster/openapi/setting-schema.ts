// Settings tell what they accept in words, for people. Where the words are of a known form, programs are told as well.
import type { JsonSchema } from '#contract/json-schema.ts';
import { lacking, type Setting } from '../settings/setting.ts';

export function settingSchema(setting: Setting): JsonSchema {
  const fallback = /^(?:`([^`]*)`|(-?\d+(?:\.\d+)?))$/.exec(setting.default);
  const value = fallback ? (fallback[1] ?? fallback[2]) : undefined;
  const schema = accepted(setting.range);
  return {
    ...schema,
    ...(value !== undefined && { default: schema.type === 'integer' ? Number(value) : value }),
    description: describe(setting),
  };
}

/** `0–16`, `256 and up`, or names in backticks. */
function accepted(range: string): JsonSchema {
  const between = /^(-?\d+)–(\d+)$/.exec(range);
  if (between) return { type: 'integer', minimum: Number(between[1]), maximum: Number(between[2]) };
  const from = /^(\d+) and up$/.exec(range);
  if (from) return { type: 'integer', minimum: Number(from[1]) };
  if (/^`[^`]+`(, `[^`]+`)+$/.test(range)) return { enum: range.split(', ').map((one) => one.slice(1, -1)) };
  return { type: 'string' };
}

function describe({ range, default: fallback, change, effect, note }: Setting): string {
  const waits = effect in lacking ? `waits for ${lacking[effect as keyof typeof lacking]}` : effect;
  const parts = [`Accepted: ${range}.`, `Default: ${fallback}.`, `A change is ${change}; it ${waits}.`];
  return [...parts, ...(note === undefined ? [] : [`${note}.`])].join(' ');
}
