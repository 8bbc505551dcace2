// Times of RFC 3339 with a zone, as requests and options have them.

const withZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970; NaN: the text is no such time. */
export function rfc3339Ms(text: string): number {
  const upperCase = text.toUpperCase();
  return withZone.test(upperCase) ? Date.parse(upperCase) : Number.NaN;
}
