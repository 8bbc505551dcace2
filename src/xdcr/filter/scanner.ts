// Splits a filter expression into tokens.
import { FilterError } from './filter-error.ts';

export interface Token {
  /** `name`: a field in backticks; `word`: any other name, keywords included. */
  readonly kind: 'word' | 'name' | 'string' | 'number' | 'sign' | 'end';
  /** Names and strings without quotes. */
  readonly text: string;
  /** The index of its first character in the expression. */
  readonly at: number;
}

const blank = /\s+/y;
const word = /[\p{L}_][\p{L}\p{N}_]*/uy;
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const sign = /==|!=|<>|<=|>=|&&|\|\||[=<>!()[\].,+\-*/%]/y;
/** Escapes in strings. All others, such as `\d`, stay as they are, since regular expressions use them. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\',
  '"': '"',
  "'": "'",
  '/': '/',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** The last token is the end. @throws FilterError */
export function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  };
  while (at < text.length) {
    const gap = match(blank);
    if (gap !== null) {
      at += gap.length;
      continue;
    }
    const first = text[at] as string;
    if (first === '"' || first === "'" || first === '`') {
      const quoted = readQuoted(text, at);
      tokens.push({ kind: first === '`' ? 'name' : 'string', text: quoted.text, at });
      at = quoted.end;
      continue;
    }
    const token =
      tokenOf(match(word), 'word') ?? tokenOf(match(number), 'number') ?? tokenOf(match(sign), 'sign');
    if (token === null) throw new FilterError(at, `${JSON.stringify(first)} is not part of the language`);
    tokens.push({ ...token, at });
    at += token.text.length;
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

const tokenOf = (text: string | null, kind: Token['kind']) => (text === null ? null : { kind, text });

/** Reads a string, or a name in backticks: in a name, two backticks stand for one. */
function readQuoted(text: string, start: number): { text: string; end: number } {
  const quote = text[start] as string;
  let result = '';
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at] as string;
    if (character === quote) {
      if (quote !== '`' || text[at + 1] !== '`') return { text: result, end: at + 1 };
      at++;
    }
    if (character !== '\\' || quote === '`') {
      result += character;
      continue;
    }
    const next = text[at + 1] ?? '';
    const code = next === 'u' ? /^[0-9a-fA-F]{4}/.exec(text.slice(at + 2, at + 6))?.[0] : undefined;
    if (code !== undefined) result += String.fromCharCode(Number.parseInt(code, 16));
    else result += escapes[next] ?? `\\${next}`;
    at += code === undefined ? 1 : 5;
  }
  throw new FilterError(start, `the closing ${quote} is missing`);
}

const shownMax = 50;

/** What an error says about a token that is not the expected one. */
export const shownToken = ({ kind, text }: Token): string =>
  kind === 'end' ? 'the expression ends here' : `found ${JSON.stringify(text.slice(0, shownMax))}`;
