// Parses ORDER BY terms and windows.
import type { FrameBound, SortTerm, WindowFrame, WindowSpecification } from '../tree/expression.ts';
import type { ExpressionGrammar } from './grammar.ts';
import type { TokenReader } from './token-reader.ts';

export class WindowParser {
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionGrammar;

  constructor(tokens: TokenReader, expressions: ExpressionGrammar) {
    this.tokens = tokens;
    this.expressions = expressions;
  }

  /** `ORDER BY …`, or nothing. */
  orderBy(): SortTerm[] {
    const { tokens } = this;
    if (!tokens.take('order')) return [];
    tokens.expect('by');
    const terms = [this.sortTerm()];
    while (tokens.take(',')) terms.push(this.sortTerm());
    return terms;
  }

  private sortTerm(): SortTerm {
    const expression = this.expressions.expression();
    return { expression, direction: this.direction(), nulls: this.nulls() };
  }

  private direction(): SortTerm['direction'] {
    if (this.tokens.take('asc')) return 'asc';
    if (this.tokens.take('desc')) return 'desc';
    return this.expressions.isParameter() ? this.expressions.parameter() : undefined;
  }

  private nulls(): SortTerm['nulls'] {
    const { tokens } = this;
    if (!tokens.take('nulls')) return undefined;
    if (tokens.take('first')) return 'first';
    if (tokens.take('last')) return 'last';
    if (!this.expressions.isParameter()) throw tokens.unexpected('FIRST or LAST');
    return this.expressions.parameter();
  }

  /** The part after OVER: a name, or a window in parentheses. */
  over(): WindowSpecification {
    const { tokens } = this;
    if (tokens.kind !== 'identifier') return this.specification();
    const base = tokens.name();
    return { base, isReference: true, partitionBy: [], orderBy: [], frame: undefined };
  }

  specification(): WindowSpecification {
    const { tokens } = this;
    tokens.expect('(');
    const base = tokens.kind === 'identifier' ? tokens.name() : undefined;
    const partitionBy = tokens.take('partition') ? this.partitionBy() : [];
    const orderBy = this.orderBy();
    const frame = this.frame();
    tokens.expect(')');
    return { base, isReference: false, partitionBy, orderBy, frame };
  }

  private partitionBy(): WindowSpecification['partitionBy'] {
    this.tokens.expect('by');
    return this.expressions.expressions();
  }

  private frame(): WindowFrame | undefined {
    const { tokens } = this;
    const unit = tokens.kind;
    if (unit !== 'rows' && unit !== 'range' && unit !== 'groups') return undefined;
    tokens.next();
    if (!tokens.take('between')) {
      return { unit, start: this.bound(), end: undefined, exclude: this.exclude() };
    }
    const start = this.bound();
    tokens.expect('and');
    return { unit, start, end: this.bound(), exclude: this.exclude() };
  }

  private bound(): FrameBound {
    const { tokens } = this;
    if (tokens.take('unbounded')) {
      return { kind: this.side() === 'preceding' ? 'unbounded preceding' : 'unbounded following' };
    }
    if (tokens.take('current')) {
      tokens.expect('row');
      return { kind: 'current row' };
    }
    const distance = this.expressions.expression();
    return { kind: this.side(), distance };
  }

  private side(): 'preceding' | 'following' {
    if (this.tokens.take('preceding')) return 'preceding';
    if (!this.tokens.take('following')) throw this.tokens.unexpected('PRECEDING or FOLLOWING');
    return 'following';
  }

  private exclude(): WindowFrame['exclude'] {
    const { tokens } = this;
    if (!tokens.take('exclude')) return 'no others';
    if (tokens.take('ties')) return 'ties';
    if (tokens.take('group')) return 'group';
    if (tokens.take('current')) {
      tokens.expect('row');
      return 'current row';
    }
    tokens.expect('no');
    tokens.expect('others');
    return 'no others';
  }
}
