/** The data port takes an expiry of up to this many seconds as relative to now, a higher one as seconds since 1970. */
export const relativeExpiryMax = 30 * 24 * 3600;
