// Times of clients: the conversion of an expiry to the stored form, and the limits of lock times.
import { relativeExpiryMax } from '#wire/relative-expiry.ts';

const latestTime = 0xffffffff;

export const lockSecondsDefault = 15;
export const lockSecondsMax = 30;

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
