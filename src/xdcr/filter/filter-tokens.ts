import { FilterError } from './filter-error.ts';
import { scan, shownToken, type Token } from './scanner.ts';

/** The tokens of a filter expression, which the parser reads one after the other. */
export class FilterTokens {
  private readonly tokens: readonly Token[];
  private at = 0;

  /** @throws FilterError */
  constructor(text: string) {
    this.tokens = scan(text);
  }

  get current(): Token {
    return this.tokens[this.at] as Token;
  }

  get following(): Token {
    return this.tokens[this.at + 1] ?? this.current;
  }

  /** Returns the current token and moves to the following one, except from the end of the expression. */
  next(): Token {
    const token = this.current;
    if (token.kind !== 'end') this.at++;
    return token;
  }

  is(...texts: readonly string[]): boolean {
    const { kind, text } = this.current;
    return (kind === 'sign' || kind === 'word') && texts.includes(text);
  }

  accept(...texts: readonly string[]): boolean {
    if (!this.is(...texts)) return false;
    this.at++;
    return true;
  }

  /** Moves past the given word or sign. @throws FilterError if the current token is another one */
  expect(text: string): void {
    const token = this.current;
    if (this.accept(text)) return;
    throw new FilterError(token.at, `${shownToken(token)}; expected ${text}`);
  }
}
