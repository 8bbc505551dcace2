// A request must name its host once: with two Host headers a proxy may have checked another one than the server uses.

/** `rawHeaders`: alternating names and values, as Node has them. */
export const repeatsHost = (rawHeaders: readonly string[]): boolean =>
  rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length > 1;
