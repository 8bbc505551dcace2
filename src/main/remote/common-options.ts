// Options that several commands on a running node share.
import { realClock } from '#ports/clock.ts';
import { relativeExpiryMax } from '#wire/relative-expiry.ts';
import { kinds, type OptionKind, UsageError } from '../options.ts';

export const jsonFlag = { kind: kinds.flag, default: false, doc: 'print JSON instead of text' } as const;

export const collectionOptions = {
  scope: { kind: kinds.text, default: '_default', doc: 'scope' },
  collection: { kind: kinds.text, default: '_default', doc: 'collection' },
} as const;

export const integerOption = (min: number, max: number, placeholder = 'N'): OptionKind<number> => ({
  placeholder,
  parse(text) {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new UsageError(`"${text}" is not a whole number from ${min} to ${max}`);
  },
});

const daySeconds = 86_400;
const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: daySeconds };

/** A time such as 90s, 5m, 12h or 7d, in seconds, at most `daysMax` days. */
export const secondsUpTo = (daysMax: number): OptionKind<number> => ({
  placeholder: 'TIME',
  show: (value) => (value % 60 === 0 ? `${value / 60}m` : `${value}s`),
  parse(text) {
    const [, count, unit = 's'] = /^(\d{1,7})([smhd]?)$/.exec(text) ?? [];
    const value = Number(count) * (unitSeconds[unit || 's'] as number);
    if (value > daysMax * daySeconds) throw new UsageError(`"${text}" is more than ${daysMax}d`);
    if (value > 0) return value;
    throw new UsageError(`"${text}" is not a time such as 90s, 5m, 12h or 7d`);
  },
});

/** Fifty years. The data service stores times up to 2106. */
export const expirySeconds = secondsUpTo(18_250);

/** The expiry to send to the data service, for a document that expires after these seconds. */
export const expiryAfter = (fromNow: number): number =>
  fromNow <= relativeExpiryMax ? fromNow : Math.floor(realClock.wallMs() / 1_000) + fromNow;
