// A request names its host once: whoever stands in front of a server may have judged another one than the server reads.

/** Of names and values in turn. */
export const repeatsHost = (rawHeaders: readonly string[]): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1;
