// Where the parser stands in the tokens, and how it refuses one.
import { type SqlError, sqlError } from '../errors/sql-error.ts';
import { keywordOf } from './keywords.ts';
import { nearText, placeText } from './positions.ts';
import { scan, type TokenKind, type Tokens } from './scanner.ts';

/** Brackets, subqueries, functions and the like within each other. */
const depthMax = 400;

export class TokenReader {
  readonly text: string;
  private readonly tokens: Tokens;
  private index = 0;
  private depth = 0;
  private questionMarks = 0;
  /** Of the token that stands next. */
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

  /** Offset behind the token before the next. */
  get lastEnd(): number {
    return this.index === 0 ? 0 : (this.tokens.ends[this.index - 1] as number);
  }

  get value(): string {
    return this.tokens.values[this.index] as string;
  }

  /** The kind of the token that stands `count` behind the next. */
  peek(count: number): TokenKind {
    return this.tokens.kinds[Math.min(this.index + count, this.tokens.kinds.length - 1)] as TokenKind;
  }

  peekValue(count: number): string | undefined {
    return this.tokens.values[this.index + count];
  }

  next(): void {
    this.kind = this.tokens.kinds[++this.index] as TokenKind;
  }

  /** Where the compiler would hold `kind` for unchanged. */
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

  /** A word that is no reserved one, in any case: RECURSIVE. */
  isWord(word: string): boolean {
    return this.kind === 'identifier' && this.value.toLowerCase() === word && this.text[this.at] !== '`';
  }

  name(what = 'a name'): string {
    if (this.kind !== 'identifier') throw this.unexpected(what);
    const { value } = this;
    this.next();
    return value;
  }

  /** The position of a positional parameter whose token has this value; that of a question mark is the number of those before it. */
  positionOf(value: string): number {
    return value === '0' ? ++this.questionMarks : Number(value);
  }

  /** Runs one level deeper. */
  enter(): void {
    if (++this.depth > depthMax) {
      throw sqlError(
        3000,
        `syntax error${this.place()}; a statement is at most ${depthMax} levels deep: take brackets or subqueries out`,
      );
    }
  }

  leave(): void {
    this.depth--;
  }

  place(): string {
    return placeText(this.text, this.at, this.tokens.ends[this.index] as number);
  }

  /** The next token does not belong here. */
  unexpected(expected?: string): SqlError {
    const reason = this.kind === 'error' ? this.tokens.values[this.index] : undefined;
    const word = this.text.slice(this.at, this.tokens.ends[this.index]);
    const reserved = keywordOf(word) === undefined ? '' : ' (reserved word)';
    const hint =
      reserved !== '' && expected?.includes('name')
        ? `; a name like this stands in backticks: \`${word}\``
        : '';
    const right = expected === undefined ? '' : `; expected ${expected}`;
    return sqlError(
      3000,
      `syntax error${reason === undefined ? '' : `: ${reason}`}${this.place()}${reserved}${right}${hint}`,
    );
  }

  /** A problem that is known at the next token. */
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
