/** The watermarks of a bucket's memory, as shares of its quota: eviction starts at the high one and stops at the low one. */
export const highWatermarkShare = 0.85;
export const lowWatermarkShare = 0.75;
