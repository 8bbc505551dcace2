// Removes passwords, as the options and headers of CURL() have them, from statements that catalog and audit show.
import { aggregateNamed } from '#sqlpp/functions/aggregates.ts';
import { functionNamed } from '#sqlpp/functions/catalog.ts';

/**
 * The name of CURL(); an escape, with which a name in backticks may be written; EXECUTE, since a prepared statement may call any function.
 */
const mayNameCurl = /curl|\\u|\bexecute\b/i;
/**
 * A name before a bracket, which may be that of a user-defined function. The search begins only at the beginning of a word: if it began at each
 * character of a long word, which a literal may contain, it would take minutes.
 */
const called = /(?<![\w.:`])([\w.:`]+)\s*\(/g;
const wordsBeforeBrackets = new Set(
  'all and any as by case else end every exists first for from having in key let letting not object on or over raw returning satisfies select set some then unnest using value values when where with within'.split(
    ' ',
  ),
);

/** The characters of a string literal of SQL++ between its quotes, with escapes and doubled quotes. */
const inside = (quote: string): string => String.raw`(?:[^${quote}\\]|\\.|${quote}${quote})*`;

/** A string literal of SQL++ in single or double quotes; the closing quote may be missing. */
const quoted = `(?:"${inside('"')}"?|'${inside("'")}'?)`;
const member = new RegExp(
  String.raw`(["'\x60]?-{0,2}(?:password|pass|user|userpwd|secret|token)["'\x60]?\s*:\s*)${quoted}`,
  'gis',
);
const headerName = String.raw`(?:(?:proxy-)?authorization|cookie|[\w-]+-(?:key|token|secret))\s*:\s*`;
const headers = ['"', "'"].map((quote) => new RegExp(`(${quote}${headerName})${inside(quote)}`, 'gis'));
/** Also matches at the end of the text, because the statement may have been truncated there. */
const address = /(https?:\/\/)[^/?#\s"']+(?:@|$)/gi;

export const withoutPasswords = (statement: string): string =>
  headers
    .reduce((text, header) => text.replace(header, '$1*****'), statement.replace(member, '$1"*****"'))
    .replace(address, '$1*****@');

/** The text that the catalog shows: the statement as it was sent, or without passwords if it may call CURL(), directly or by another function. */
export const shownStatement = (statement: string): string =>
  mayCallCurl(statement) ? withoutPasswords(statement) : statement;

/** What messages quote of a statement, up to their end. */
const quotedStatement = /,? (?:near '|at: ).*$/s;

/** The error message of a statement in the catalog and the audit: if the statement may call CURL(), without the words that the message quotes. */
export const shownMessage = (message: string, statement: string): string =>
  mayCallCurl(statement) ? withoutPasswords(message.replace(quotedStatement, '')) : message;

const mayCallCurl = (statement: string): boolean => mayNameCurl.test(statement) || !callsOnlyKnown(statement);

const callsOnlyKnown = (statement: string): boolean =>
  [...statement.matchAll(called)].every(([, name = '']) => isKnown(name.toLowerCase()));

const isKnown = (word: string): boolean =>
  wordsBeforeBrackets.has(word) || functionNamed(word) !== undefined || aggregateNamed(word) !== undefined;
