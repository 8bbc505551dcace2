// Splits text into tokens. It never fails: invalid text becomes an `error` token, which the parser refuses at its position.

import type { Value } from '../values/value.ts';
import { type Keyword, keywordOf } from './keywords.ts';
import { LiteralLists } from './literal-lists.ts';
import { LiteralObjects } from './literal-objects.ts';
import { unquote } from './strings.ts';

export type TokenKind =
  | Keyword
  | 'identifier'
  /** `` `name`i `` */
  | 'identifier without case'
  /** Literals: their kinds differ from the reserved words STRING and NUMBER. */
  | 'string literal'
  | 'number literal'
  /** `$name` */
  | 'named parameter'
  /** `$1`; `?` has the value 0. */
  | 'positional parameter'
  | 'hints'
  | 'error'
  | 'end of input'
  | '.'
  | '...'
  | ','
  | ':'
  | ';'
  | '('
  | ')'
  | '['
  | ']'
  /** `]i` */
  | ']i'
  | '{'
  | '}'
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | '||'
  /** A long list of literals, or in a long statement an object of literals, as a whole. */
  | 'literal';

/** All tokens of a text, in parallel arrays; the last is `end of input`. */
export interface Tokens {
  readonly kinds: TokenKind[];
  readonly starts: number[];
  readonly ends: number[];
  /** The value of identifiers, strings, numbers, parameters and hints; for an error the reason. */
  readonly values: (string | undefined)[];
  /** The values of `literal` tokens, by the index of the token. */
  readonly literals: ReadonlyMap<number, Value>;
}

const wordStart = new Uint8Array(128);
const wordPart = new Uint8Array(128);
const digit = new Uint8Array(128);
for (let code = 48; code <= 57; code++) digit[code] = wordPart[code] = 1;
for (const range of [65, 97]) {
  for (let code = range; code < range + 26; code++) wordStart[code] = wordPart[code] = 1;
}
wordStart[95] = wordPart[95] = 1;

/** The first characters of tokens of several characters. */
const startsLonger = new Uint8Array(128);
for (const character of '=!<>|].') startsLonger[character.charCodeAt(0)] = 1;

const singles: ReadonlyMap<number, TokenKind> = new Map(
  (['.', ',', ':', ';', '(', ')', '[', ']', '{', '}', '+', '-', '*', '/', '%', '=', '<', '>'] as const).map(
    (character): [number, TokenKind] => [character.charCodeAt(0), character],
  ),
);

export function scan(text: string): Tokens {
  const scanner = new Scanner(text);
  scanner.run();
  return scanner;
}

class Scanner implements Tokens {
  readonly kinds: TokenKind[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly values: (string | undefined)[] = [];
  readonly literals = new Map<number, Value>();
  private readonly text: string;
  private readonly lists: LiteralLists;
  private readonly objects: LiteralObjects;
  private at = 0;

  constructor(text: string) {
    this.text = text;
    this.lists = new LiteralLists(text);
    this.objects = new LiteralObjects(text);
  }

  run(): void {
    const { text } = this;
    while (this.at < text.length) {
      const code = text.charCodeAt(this.at);
      if (code === 32 || (code >= 9 && code <= 13))
        this.at++; // Space, tab, ends of lines.
      else if (code < 128 && wordStart[code] === 1) this.word();
      else if (code < 128 && digit[code] === 1) this.number();
      else this.symbol(code);
    }
    this.add('end of input', text.length, undefined);
  }

  private add(kind: TokenKind, end: number, value: string | undefined): void {
    this.kinds.push(kind);
    this.starts.push(this.at);
    this.ends.push(end);
    this.values.push(value);
    this.at = end;
  }

  private word(): void {
    const end = this.wordEnd(this.at + 1);
    const word = this.text.slice(this.at, end);
    const keyword = keywordOf(word);
    // The text of a keyword is kept for functions such as REPLACE.
    this.add(keyword ?? 'identifier', end, word);
  }

  private wordEnd(from: number): number {
    let end = from;
    for (; end < this.text.length; end++) {
      const code = this.text.charCodeAt(end);
      if (code >= 128 || wordPart[code] !== 1) break;
    }
    return end;
  }

  /** `0`, `12`, `1.5`, `2e-3`; digits after a leading zero are a separate number. */
  private number(): void {
    let end = this.text.charCodeAt(this.at) === 48 ? this.at + 1 : this.digitsEnd(this.at);
    if (this.text.charCodeAt(end) === 46 && this.isDigit(end + 1)) end = this.digitsEnd(end + 1);
    if (this.text[end] === 'e' || this.text[end] === 'E') {
      const sign = this.text[end + 1] === '+' || this.text[end + 1] === '-' ? 1 : 0;
      if (this.isDigit(end + 1 + sign)) end = this.digitsEnd(end + 1 + sign);
    }
    this.add('number literal', end, this.text.slice(this.at, end));
  }

  private isDigit(at: number): boolean {
    return digit[this.text.charCodeAt(at)] === 1;
  }

  private digitsEnd(from: number): number {
    let end = from;
    while (this.isDigit(end)) end++;
    return end;
  }

  private symbol(code: number): void {
    switch (code) {
      case 34: // "
      case 39: {
        // '
        this.string(code);
        return;
      }
      case 96: {
        // `
        this.quotedName();
        return;
      }
      case 36: {
        // $
        this.parameter();
        return;
      }
      case 91: {
        // [
        const list = this.lists.at(this.at);
        if (list === undefined) break;
        this.literal(list.items, list.end);
        return;
      }
      case 123: {
        // {
        const object = this.followsKey() ? this.objects.at(this.at) : undefined;
        if (object === undefined) break;
        this.literal(object.value, object.end);
        return;
      }
      case 63: {
        // ?
        this.add('positional parameter', this.at + 1, '0');
        return;
      }
      case 45: // -
        if (this.text.charCodeAt(this.at + 1) === 45) {
          this.lineComment();
          return;
        }
        break;
      case 47: // /
        if (this.text.charCodeAt(this.at + 1) === 42) {
          this.blockComment();
          return;
        }
        break;
    }
    this.punctuation(code);
  }

  private literal(value: Value, end: number): void {
    this.literals.set(this.kinds.length, value);
    this.add('literal', end, undefined);
  }

  /** After `("key",` as in VALUES. */
  private followsKey(): boolean {
    const { kinds } = this;
    return kinds.at(-1) === ',' && kinds.at(-2) === 'string literal' && kinds.at(-3) === '(';
  }

  private punctuation(code: number): void {
    if (code < 128 && startsLonger[code] === 0) {
      const kind = singles.get(code);
      if (kind !== undefined) {
        this.add(kind, this.at + 1, undefined);
        return;
      }
    }
    const pair = this.text.slice(this.at, this.at + 2);
    if (pair === '==') {
      this.add('=', this.at + 2, undefined);
      return;
    }
    if (pair === '!=' || pair === '<>') {
      this.add('!=', this.at + 2, undefined);
      return;
    }
    if (pair === '<=' || pair === '>=' || pair === '||') {
      this.add(pair, this.at + 2, undefined);
      return;
    }
    if (pair === ']i' && this.wordEnd(this.at + 1) === this.at + 2) {
      this.add(']i', this.at + 2, undefined);
      return;
    }
    if (this.text.startsWith('...', this.at)) {
      this.add('...', this.at + 3, undefined);
      return;
    }
    const single = singles.get(code);
    const end = this.at + (code >= 0xd800 && code < 0xdc00 ? 2 : 1);
    this.add(single ?? 'error', single === undefined ? end : this.at + 1, undefined);
  }

  private string(quote: number): void {
    const end = this.quotedEnd(quote, quote === 39);
    this.quoted('string literal', end, end, 'invalid quoted string');
  }

  private quotedName(): void {
    const end = this.quotedEnd(96, true);
    // An `i` follows directly and is not the start of a word.
    const ignoresCase = this.text[end] === 'i' && this.wordEnd(end) === end + 1;
    if (ignoresCase)
      this.quoted('identifier without case', end, end + 1, 'invalid case insensitive identifier');
    else this.quoted('identifier', end, end, 'invalid escaped identifier');
  }

  private quoted(kind: TokenKind, quotedEnd: number, end: number, problem: string): void {
    const value = unquote(this.text, this.at, quotedEnd);
    if (typeof value === 'string') this.add(kind, end, value);
    else this.add('error', end, `${problem} - ${value.problem}`);
  }

  /** The position after the closing quote, or the end of the text. With `allowsDoubled` a doubled quote is a literal one. */
  private quotedEnd(quote: number, allowsDoubled: boolean): number {
    const { text } = this;
    for (let at = this.at + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === 92) at++;
      else if (code === quote) {
        if (!allowsDoubled || text.charCodeAt(at + 1) !== quote) return at + 1;
        at++;
      }
    }
    return text.length;
  }

  private parameter(): void {
    const first = this.text.charCodeAt(this.at + 1);
    if (first < 128 && wordStart[first] === 1) {
      const end = this.wordEnd(this.at + 2);
      this.add('named parameter', end, this.text.slice(this.at + 1, end));
      return;
    }
    if (digit[first] === 1 && first !== 48) {
      const end = this.digitsEnd(this.at + 1);
      this.add('positional parameter', end, this.text.slice(this.at + 1, end));
      return;
    }
    this.add('error', this.at + 1, undefined);
  }

  private lineComment(): void {
    let end = this.at + 2;
    while (end < this.text.length && this.text[end] !== '\n' && this.text[end] !== '\r') end++;
    this.comment(end, end);
  }

  private blockComment(): void {
    const close = this.text.indexOf('*/', this.at + 2);
    if (close < 0) this.add('error', this.text.length, 'missing end of comment');
    else this.comment(close, close + 2);
  }

  /** A comment with a plus after its opening is a hint; all others count as space. */
  private comment(textEnd: number, end: number): void {
    if (this.text[this.at + 2] === '+') this.add('hints', end, this.text.slice(this.at + 3, textEnd));
    else this.at = end;
  }
}
