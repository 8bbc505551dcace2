// Parses the path after a value: fields (`.name`), items (`[index]`), slices (`[from:to]`) and `[*]`.
import { sqlError } from '../errors/sql-error.ts';
import type { Expression, Field } from '../tree/expression.ts';
import type { ExpressionGrammar } from './grammar.ts';
import type { TokenReader } from './token-reader.ts';

/** The most operators, or steps of a path, in sequence without parentheses: each adds a level to the tree. */
export const chainMax = 2000;

export function chainTooLong(tokens: TokenReader): Error {
  return sqlError(
    3000,
    `syntax error${tokens.place()}; an expression has at most ${chainMax} operators in a row without brackets`,
  );
}

export class PathParser {
  private readonly tokens: TokenReader;
  private readonly expressions: Pick<ExpressionGrammar, 'expression'>;

  constructor(tokens: TokenReader, expressions: Pick<ExpressionGrammar, 'expression'>) {
    this.tokens = tokens;
    this.expressions = expressions;
  }

  /** The steps after a value; the value itself without any. */
  path(start: Expression): Expression {
    const { tokens } = this;
    let path = start;
    for (let chain = 0; ; chain++) {
      if (chain > chainMax) throw chainTooLong(tokens);
      if (tokens.kind === '[') path = this.element(path);
      // `of.*` belongs to the projection.
      else if (tokens.kind === '.' && tokens.peek(1) !== '*') path = this.field(path);
      else return path;
    }
  }

  private field(base: Expression): Field {
    const { tokens } = this;
    tokens.next();
    const { at } = tokens;
    if (tokens.kind === '[') {
      tokens.next();
      const name = this.expressions.expression();
      const ignoresCase = tokens.take(']i');
      if (!ignoresCase) tokens.expect(']');
      return { kind: 'field', of: base, name, ignoresCase, at: base.at };
    }
    const ignoresCase = tokens.kind === 'identifier without case';
    if (tokens.kind !== 'identifier' && !ignoresCase) throw tokens.unexpected('the name of a field');
    const name: Expression = { kind: 'constant', value: tokens.value, at };
    tokens.next();
    return { kind: 'field', of: base, name, ignoresCase, at };
  }

  private element(base: Expression): Expression {
    const { tokens } = this;
    const { at } = base;
    tokens.next();
    if (tokens.kind === '*' && tokens.peek(1) === ']') {
      tokens.next();
      tokens.next();
      return { kind: 'array star', of: base, at };
    }
    if (tokens.take(':')) {
      const end = tokens.kind === ']' ? undefined : this.expressions.expression();
      tokens.expect(']');
      return { kind: 'slice', of: base, start: undefined, end, at };
    }
    const index = this.expressions.expression();
    if (tokens.take(':')) {
      const end = tokens.kind === ']' ? undefined : this.expressions.expression();
      tokens.expect(']');
      return { kind: 'slice', of: base, start: index, end, at };
    }
    tokens.expect(']');
    return { kind: 'element', of: base, index, at };
  }
}
