// Errors of statements by their published codes, as `assert.throws` and `assert.rejects` compare them.

/** A value is too large, or takes too many steps. */
export const outOfRange = { name: 'SqlError', code: 5035 };
export const memoryQuotaExceeded = { name: 'SqlError', code: 5500 };
