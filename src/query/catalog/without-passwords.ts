// Removes passwords, as the options and headers of CURL() have them, from statements that catalog and audit show.

/** A text of SQL++ in either quotes, also without its end. */
const quoted = String.raw`(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)`;
const member = new RegExp(
  String.raw`(["'\x60]?-{0,2}(?:password|pass|user|userpwd|secret|token)["'\x60]?\s*:\s*)${quoted}`,
  'gi',
);
const header = /(["'](?:(?:proxy-)?authorization|cookie|[\w-]+-(?:key|token|secret))\s*:\s*)[^"']+/gi;
const address = /(https?:\/\/)[^/\s"'@]+@/gi;

export const withoutPasswords = (statement: string): string =>
  statement.replace(member, '$1"*****"').replace(header, '$1*****').replace(address, '$1*****@');
