// Options that several commands on a running node share.
import { kinds, type OptionKind, UsageError } from '../options.ts';

export const jsonFlag = { kind: kinds.flag, default: false, doc: 'print JSON instead of text' } as const;

export const collectionOptions = {
  scope: { kind: kinds.text, default: '_default', doc: 'scope' },
  collection: { kind: kinds.text, default: '_default', doc: 'collection' },
} as const;

export const wholeNumber = (min: number, max: number, placeholder = 'N'): OptionKind<number> => ({
  placeholder,
  parse(text) {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new UsageError(`"${text}" is not a whole number from ${min} to ${max}`);
  },
});

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** A time such as 90s, 5m, 12h or 7d, in seconds. */
export const seconds: OptionKind<number> = {
  placeholder: 'TIME',
  show: (value) => (value % 60 === 0 ? `${value / 60}m` : `${value}s`),
  parse(text) {
    const [, count, unit = 's'] = /^(\d{1,7})([smhd]?)$/.exec(text) ?? [];
    if (Number(count) > 0) return Number(count) * (unitSeconds[unit || 's'] as number);
    throw new UsageError(`"${text}" is not a time such as 90s, 5m, 12h or 7d`);
  },
};
