// Splits text into statements at each `;` outside strings, names and comments.
import { scan } from '#sqlpp/text/scanner.ts';

export class StatementReader {
  private text = '';

  /** Adds text and returns the statements that it completes. */
  add(text: string): string[] {
    this.text += text;
    return text.includes(';') ? this.cut() : [];
  }

  /** Returns the text after the last `;` as a statement, unless it has only comments. */
  end(): string[] {
    const last = this.text;
    this.text = '';
    return holdsStatement(last) ? [last.trim()] : [];
  }

  /** A statement has begun and is not complete. */
  get isPending(): boolean {
    return holdsStatement(this.text);
  }

  get length(): number {
    return this.text.length;
  }

  clear(): void {
    this.text = '';
  }

  private cut(): string[] {
    const { kinds, starts, ends } = scan(this.text);
    const statements: string[] = [];
    let from = 0;
    for (const [index, kind] of kinds.entries()) {
      if (kind !== ';') continue;
      const statement = this.text.slice(from, starts[index]).trim();
      if (holdsStatement(statement)) statements.push(statement);
      from = ends[index] as number;
    }
    this.text = this.text.slice(from);
    return statements;
  }
}

/** The last token of a scan is the end of the text. */
const holdsStatement = (text: string): boolean => scan(text).kinds.length > 1;
