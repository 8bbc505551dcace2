// Times of clients: the conversion of an expiry to the stored form, and the limits of lock times.
import { relativeExpiryMax } from '#wire/relative-expiry.ts';

const latestTime = 0xffffffff;

const lockSecondsDefault = 15;
const lockSecondsMax = 30;

/** How long a lock lasts for which this is requested. */
export const lockSeconds = (requested: number): number =>
  requested > 0 && requested <= lockSecondsMax ? requested : lockSecondsDefault;

/** Seconds since 1970, 0 = never. */
export function absoluteExpiry(expiry: number, nowSeconds: number): number {
  return expiry === 0 || expiry > relativeExpiryMax ? expiry : nowSeconds + expiry;
}

/** Limits an expiry to a maximum time to live; 0 = no maximum. */
export function capExpiry(expiry: number, maxTtl: number, nowSeconds: number): number {
  if (maxTtl === 0) return expiry;
  const latest = Math.min(nowSeconds + maxTtl, latestTime);
  return expiry === 0 || expiry > latest ? latest : expiry;
}
