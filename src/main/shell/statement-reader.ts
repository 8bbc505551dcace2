// Splits text into statements at each `;` outside strings, names and comments. Each character is looked at once, whatever the number of
// lines of a statement: to scan the text of the statement again for each line would take minutes for one of a megabyte.

/** What the text so far ends in; in quotes, `quote` says which. */
type Place =
  | 'code'
  /** After a `-` or `/` that may begin a comment. */
  | 'dash'
  | 'slash'
  | 'quotes'
  /** After a backslash in quotes. */
  | 'escape'
  /** After the characters that begin a comment: a plus makes it a hint. */
  | 'line comment begins'
  | 'line comment'
  | 'block comment begins'
  | 'block comment'
  /** After a star that may end a block comment. */
  | 'star';

export class StatementReader {
  private text = '';
  private place: Place = 'code';
  private quote = '';
  /** Whether the text has more than space and comments; a hint counts. */
  private hasToken = false;

  /** Adds text and returns the statements that it completes. */
  add(text: string): string[] {
    const statements: string[] = [];
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      if (!this.follow(text[at] as string)) continue;
      const statement = (this.text + text.slice(from, at)).trim();
      if (this.hasToken && statement !== '') statements.push(statement);
      this.clear();
      from = at + 1;
    }
    this.text += text.slice(from);
    return statements;
  }

  /** Returns the text after the last `;` as a statement, unless it has only comments. */
  end(): string[] {
    const last = this.isPending ? this.text.trim() : '';
    this.clear();
    return last === '' ? [] : [last];
  }

  /** A statement has begun and is not complete. */
  get isPending(): boolean {
    return this.hasToken || !(this.place === 'code' || this.place.startsWith('line comment'));
  }

  get length(): number {
    return this.text.length;
  }

  clear(): void {
    this.text = '';
    this.place = 'code';
    this.hasToken = false;
  }

  /** Returns true if the character ends a statement. */
  private follow(character: string): boolean {
    switch (this.place) {
      case 'quotes':
        // A doubled quote, which stands for one, ends and begins the string again.
        if (character === this.quote) this.place = 'code';
        else if (character === '\\') this.place = 'escape';
        return false;
      case 'escape':
        this.place = 'quotes';
        return false;
      case 'line comment begins':
      case 'block comment begins':
        if (character === '+') this.hasToken = true;
        this.place = this.place === 'line comment begins' ? 'line comment' : 'block comment';
        this.followComment(character);
        return false;
      case 'line comment':
      case 'block comment':
      case 'star':
        this.followComment(character);
        return false;
      default:
        return this.followCode(character);
    }
  }

  private followComment(character: string): void {
    if (this.place === 'line comment') {
      if (character === '\n' || character === '\r') this.place = 'code';
    } else if (this.place === 'star' && character === '/') this.place = 'code';
    else this.place = character === '*' ? 'star' : 'block comment';
  }

  private followCode(character: string): boolean {
    if (this.place === 'dash' && character === '-') this.place = 'line comment begins';
    else if (this.place === 'slash' && character === '*') this.place = 'block comment begins';
    else {
      // The sign before was an operator.
      if (this.place !== 'code') this.hasToken = true;
      this.place = 'code';
      return this.beginToken(character);
    }
    return false;
  }

  private beginToken(character: string): boolean {
    if (character === ';') return true;
    if (character === '-') this.place = 'dash';
    else if (character === '/') this.place = 'slash';
    else if (isSpace(character)) return false;
    else {
      this.hasToken = true;
      if (character !== "'" && character !== '"' && character !== '`') return false;
      this.place = 'quotes';
      this.quote = character;
    }
    return false;
  }
}

/** The white space of SQL++; other space characters are errors, which the server reports. */
const isSpace = (character: string): boolean => character === ' ' || (character >= '\t' && character <= '\r');
