// Parses expressions by operator precedence.
import { sqlError } from '../errors/sql-error.ts';
import type { Expression, NamedParameter, PositionalParameter, RangeBinding } from '../tree/expression.ts';
import type { Select } from '../tree/query.ts';
import { numberLiteral } from '../values/number-literal.ts';
import type { Value } from '../values/value.ts';
import { CallParser } from './call-parser.ts';
import { ConstructionParser } from './construction-parser.ts';
import { foldedOperands } from './literal-lists.ts';
import { isChaining, Precedence, precedenceOf } from './operator-precedence.ts';
import { chainMax, chainTooLong, PathParser } from './path-parser.ts';
import type { TokenKind } from './scanner.ts';
import type { TokenReader } from './token-reader.ts';

/** The other parsers that expressions call. */
export interface QueryGrammar {
  /** A query without its parentheses. */
  select(): Select;
  /** The rest of a set operation whose left side is a query in parentheses. */
  setOperation(left: Select, at: number): Select;
}

export class ExpressionParser {
  private readonly tokens: TokenReader;
  private readonly queries: QueryGrammar;
  private readonly calls: CallParser;
  private readonly constructions: ConstructionParser;
  private readonly paths: PathParser;

  constructor(tokens: TokenReader, queries: QueryGrammar) {
    this.tokens = tokens;
    this.queries = queries;
    this.calls = new CallParser(tokens, this);
    this.constructions = new ConstructionParser(tokens, this);
    this.paths = new PathParser(tokens, this);
  }

  expression(): Expression {
    return this.operators(Precedence.or);
  }

  expressions(): Expression[] {
    const list = [this.expression()];
    while (this.tokens.take(',')) list.push(this.expression());
    return list;
  }

  /**
   * Parses an operand and the following operators of at least this precedence. Each call counts as one level of
   * nesting, as a query does; so every pair of brackets adds a level.
   */
  private operators(minimum: number): Expression {
    const { tokens } = this;
    tokens.enter();
    let left = this.operand();
    let chain = 0;
    for (let last = 0; ; ) {
      const { kind } = tokens;
      const precedence = precedenceOf.get(kind);
      if (precedence === undefined || precedence < minimum) break;
      if (precedence === last && !isChaining(precedence)) throw tokens.unexpected('AND, OR or brackets');
      if (++chain > chainMax) throw chainTooLong(tokens);
      // The NOT of `NOT IN` and `NOT LIKE` binds as NOT does; the rest of them as IN and LIKE do.
      const following = kind === 'not' ? (precedenceOf.get(tokens.peek(1)) ?? precedence) : precedence;
      const found = this.operator(left, kind, precedence);
      if (found === undefined) break;
      left = found;
      last = following;
    }
    tokens.leave();
    return left;
  }

  private operator(left: Expression, kind: TokenKind, precedence: number): Expression | undefined {
    const { tokens } = this;
    const { at } = left;
    switch (kind) {
      case 'or':
      case 'and':
        return this.logical(left, kind, precedence);
      case '=':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        tokens.next();
        return { kind: 'comparison', operator: kind, left, right: this.operators(precedence + 1), at };
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
        tokens.next();
        return { kind: 'arithmetic', operator: kind, left, right: this.operators(precedence + 1), at };
      case '||':
        return this.concatenation(left);
      case 'is':
        tokens.next();
        return this.presenceTest(left);
      case 'not':
        return this.negatedPredicate(left);
      default:
        return this.predicate(left, false);
    }
  }

  private logical(left: Expression, operator: 'and' | 'or', precedence: number): Expression {
    const operands: Expression[] = [];
    const add = (operand: Expression): void => {
      if (operand.kind !== 'logical' || operand.operator !== operator) operands.push(operand);
      else for (const inner of operand.operands) operands.push(inner);
    };
    add(left);
    while (this.tokens.take(operator)) add(this.operators(precedence + 1));
    const folded = foldedOperands(operator, operands);
    const [only] = folded;
    if (only !== undefined && folded.length === 1) return only;
    return { kind: 'logical', operator, operands: folded, at: left.at };
  }

  private concatenation(left: Expression): Expression {
    const operands: Expression[] = [];
    const add = (operand: Expression): void => {
      if (operand.kind !== 'concatenation') operands.push(operand);
      else for (const inner of operand.operands) operands.push(inner);
    };
    add(left);
    while (this.tokens.take('||')) add(this.operators(Precedence.concatenation + 1));
    return { kind: 'concatenation', operands, at: left.at };
  }

  /** `left NOT IN …` and similar operators. */
  private negatedPredicate(left: Expression): Expression | undefined {
    const follower = this.tokens.peek(1);
    if (follower !== 'in' && follower !== 'within' && follower !== 'like' && follower !== 'between')
      return undefined;
    this.tokens.next();
    return this.predicate(left, true);
  }

  private predicate(left: Expression, isNegated: boolean): Expression {
    const { tokens } = this;
    const { at } = left;
    const { kind } = tokens;
    tokens.next();
    if (kind === 'in' || kind === 'within') {
      const list = this.operators(Precedence.membership + 1);
      return { kind: 'membership', operator: kind, of: left, list, isNegated, at };
    }
    if (kind === 'like') {
      const pattern = this.operators(Precedence.like + 1);
      const escaped = tokens.take('escape') ? this.operators(Precedence.escaping + 1) : undefined;
      return { kind: 'like', of: left, pattern, escape: escaped, isNegated, at };
    }
    const low = this.operators(Precedence.concatenation);
    tokens.expect('and');
    return { kind: 'between', of: left, low, high: this.operators(Precedence.concatenation), isNegated, at };
  }

  private presenceTest(left: Expression): Expression {
    const { tokens } = this;
    const isNegated = tokens.take('not');
    const { at } = left;
    const test = presenceTests.get(tokens.kind);
    if (test === undefined) throw tokens.unexpected('NULL, MISSING, VALUED, KNOWN or UNKNOWN');
    const inverts = tokens.kind === 'unknown';
    tokens.next();
    return { kind: 'is', of: left, test, isNegated: isNegated !== inverts, at };
  }

  /** A value with its navigation, or a prefix operator with its operand. */
  private operand(): Expression {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'not': {
        tokens.next();
        const operand = this.operators(Precedence.not);
        return { kind: 'not', of: operand, at: operand.at };
      }
      case 'exists': {
        tokens.next();
        const operand = this.operators(Precedence.exists + 1);
        return { kind: 'exists', of: operand, at: operand.at };
      }
      case '-':
        return this.negation();
      default:
        return this.paths.path(this.value());
    }
  }

  private negation(): Expression {
    const { tokens } = this;
    const { at } = tokens;
    tokens.next();
    const isLiteral = tokens.kind === 'number literal' && tokens.peek(1) !== '.' && tokens.peek(1) !== '[';
    if (isLiteral) return this.literal(numberLiteral(`-${tokens.value}`));
    return { kind: 'negation', of: this.operators(Precedence.sign), at };
  }

  private value(): Expression {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'identifier':
        return this.calls.isCall() ? this.calls.call() : this.identifier(false);
      case 'identifier without case':
        return this.identifier(true);
      case 'string literal':
        return this.literal(tokens.value);
      case 'number literal':
        return this.literal(numberLiteral(tokens.value));
      case 'true':
        return this.literal(true);
      case 'false':
        return this.literal(false);
      case 'null':
        return this.literal(null);
      case 'missing':
        return this.literal(undefined);
      case '(':
        return this.parenthesized();
      case '[':
        return this.constructions.array();
      case 'literal':
        return this.constructions.literal();
      case '{':
        return this.constructions.object();
      case 'named parameter':
      case 'positional parameter':
        return this.parameter();
      default:
        return this.keywordValue();
    }
  }

  /** Values that begin with a reserved word. */
  private keywordValue(): Expression {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'self': {
        const { at } = tokens;
        tokens.next();
        return { kind: 'self', at };
      }
      case 'case':
        return this.constructions.caseOf();
      case 'any':
      case 'some':
      case 'every':
        return this.constructions.quantified();
      case 'array':
      case 'first':
      case 'object':
        return this.constructions.comprehension(tokens.kind);
      case 'flatten_keys':
      case 'nth_value':
      case 'replace':
        return this.calls.call();
      default:
        throw tokens.unexpected('an expression');
    }
  }

  private literal(value: Value): Expression {
    const { at } = this.tokens;
    this.tokens.next();
    return { kind: 'constant', value, at };
  }

  private identifier(ignoresCase: boolean): Expression {
    const name = this.tokens.value;
    this.tokens.next();
    return { kind: 'identifier', name, ignoresCase, at: this.tokens.at };
  }

  isParameter(): boolean {
    return this.tokens.kind === 'named parameter' || this.tokens.kind === 'positional parameter';
  }

  parameter(): NamedParameter | PositionalParameter {
    const { tokens } = this;
    const { kind, value, at } = tokens;
    tokens.next();
    if (kind === 'named parameter') return { kind, name: value, at };
    const position = tokens.positionOf(value);
    if (position > 65_535)
      throw sqlError(3000, `Positional parameter out of range: $${value}${tokens.near(at)}`);
    return { kind: 'positional parameter', position, at };
  }

  /** `( … )`: an expression, a query, or `ALL …` of an array index. */
  parenthesized(): Expression {
    const { tokens } = this;
    tokens.next();
    const inner = this.inParentheses();
    tokens.expect(')');
    return inner;
  }

  private inParentheses(): Expression {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'select':
      case 'from':
      case 'with':
        return this.subquery(this.queries.select());
      case 'all':
      case 'each':
      case 'distinct':
        return this.allKeys();
    }
    const inner = this.expression();
    const isSetOperation = tokens.kind === 'union' || tokens.kind === 'intersect' || tokens.kind === 'except';
    if (inner.kind !== 'subquery' || !isSetOperation) return inner;
    return this.subquery(this.queries.setOperation(inner.select, inner.at));
  }

  /** Makes the expression of a subquery whose closing bracket is the next token. */
  private subquery(select: Select): Expression {
    return { kind: 'subquery', select, at: this.tokens.at };
  }

  /** `ALL x`, `EACH x`, `DISTINCT x`, `ALL DISTINCT x`, or a plain expression. */
  keyExpression(): Expression {
    const { kind } = this.tokens;
    return kind === 'all' || kind === 'each' || kind === 'distinct' ? this.allKeys() : this.expression();
  }

  private allKeys(): Expression {
    const { tokens } = this;
    const { at } = tokens;
    const isAll = tokens.take('all') || tokens.take('each');
    const isDistinct = tokens.take('distinct');
    if (!isAll && !isDistinct) throw tokens.unexpected('ALL or DISTINCT');
    return { kind: 'all keys', of: this.expression(), isDistinct, at };
  }

  rangeBindings(): RangeBinding[] {
    return this.constructions.rangeBindings();
  }

  object(): Expression {
    return this.constructions.object();
  }
}

const presenceTests: ReadonlyMap<TokenKind, 'null' | 'missing' | 'valued'> = new Map([
  ['null', 'null'],
  ['missing', 'missing'],
  ['valued', 'valued'],
  ['known', 'valued'],
  ['unknown', 'valued'],
]);
