// The parser's position in the tokens, and its errors.
import { type SqlError, sqlError } from '../errors/sql-error.ts';
import type { Value } from '../values/value.ts';
import { keywordOf } from './keywords.ts';
import { nearText, placeText } from './positions.ts';
import { scan, type TokenKind, type Tokens } from './scanner.ts';

/** The limit of nested brackets, subqueries and functions. */
const depthMax = 400;

export class TokenReader {
  readonly text: string;
  private readonly tokens: Tokens;
  private index = 0;
  private depth = 0;
  private questionMarks = 0;
  /** The kind of the next token. */
  kind: TokenKind;

  constructor(text: string) {
    this.text = text;
    this.tokens = scan(text);
    this.kind = this.tokens.kinds[0] as TokenKind;
  }

  /** Offset of the next token, or of the end. */
  get at(): number {
    return this.tokens.starts[this.index] as number;
  }

  /** The offset after the previous token. */
  get lastEnd(): number {
    return this.index === 0 ? 0 : (this.tokens.ends[this.index - 1] as number);
  }

  /** The offset after the next token. */
  get end(): number {
    return this.tokens.ends[this.index] as number;
  }

  /** The value of a list or an object that the scanner has read. */
  get literal(): Value {
    return this.tokens.literals.get(this.index);
  }

  get value(): string {
    return this.tokens.values[this.index] as string;
  }

  /** The kind of the token `count` positions after the next. */
  peek(count: number): TokenKind {
    return this.tokens.kinds[Math.min(this.index + count, this.tokens.kinds.length - 1)] as TokenKind;
  }

  peekValue(count: number): string | undefined {
    return this.tokens.values[this.index + count];
  }

  next(): void {
    this.kind = this.tokens.kinds[++this.index] as TokenKind;
  }

  /** The kind of the next token, after calls that TypeScript assumes not to change `kind`. */
  is(kind: TokenKind): boolean {
    return this.kind === kind;
  }

  take(kind: TokenKind): boolean {
    if (this.kind !== kind) return false;
    this.next();
    return true;
  }

  expect(kind: TokenKind): void {
    if (this.kind !== kind) throw this.unexpected(nameOf(kind));
    this.next();
  }

  /** Whether the next token is this unreserved word (such as RECURSIVE), in upper or lower case and without backticks. */
  isWord(word: string): boolean {
    return this.kind === 'identifier' && this.value.toLowerCase() === word && this.text[this.at] !== '`';
  }

  name(expected = 'a name'): string {
    if (this.kind !== 'identifier') throw this.unexpected(expected);
    const { value } = this;
    this.next();
    return value;
  }

  /** The position of a positional parameter, by the value of its token; question marks (value 0) are counted from 1. */
  positionOf(value: string): number {
    return value === '0' ? ++this.questionMarks : Number(value);
  }

  /** Begins a nesting level, which `leave` ends. */
  enter(): void {
    if (++this.depth > depthMax) {
      throw sqlError(
        3000,
        `syntax error${this.place()}; a statement is at most ${depthMax} levels deep: remove brackets or subqueries`,
      );
    }
  }

  leave(): void {
    this.depth--;
  }

  place(): string {
    return placeText(this.text, this.at, this.tokens.ends[this.index] as number);
  }

  /** The error for an unexpected next token. */
  unexpected(expected?: string): SqlError {
    const reason = this.kind === 'error' ? this.tokens.values[this.index] : undefined;
    const word = this.text.slice(this.at, this.tokens.ends[this.index]);
    const reserved = keywordOf(word) === undefined ? '' : ' (reserved word)';
    const hint =
      reserved !== '' && expected?.includes('name') ? `; a name like this needs backticks: \`${word}\`` : '';
    const expectation = expected === undefined ? '' : `; expected ${expected}`;
    return sqlError(
      3000,
      `syntax error${reason === undefined ? '' : `: ${reason}`}${this.place()}${reserved}${expectation}${hint}`,
    );
  }

  /** An error at the next token. */
  problem(text: string): SqlError {
    return sqlError(3000, `${text}${this.place()}`);
  }

  near(offset: number): string {
    return nearText(this.text, offset);
  }
}

function nameOf(kind: TokenKind): string {
  return /^[a-z_]+$/.test(kind) && keywordOf(kind) !== undefined ? kind.toUpperCase() : kind;
}
