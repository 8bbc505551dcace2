// Parses calls: functions, aggregates with their clauses, user-defined functions.
import { sqlError } from '../errors/sql-error.ts';
import { type AggregateRules, aggregateNamed } from '../functions/aggregates.ts';
import { functionNamed } from '../functions/catalog.ts';
import type { Aggregate, Expression, FunctionName, KeyTerm } from '../tree/expression.ts';
import type { ExpressionGrammar } from './grammar.ts';
import type { TokenReader } from './token-reader.ts';
import { WindowParser } from './window-parser.ts';

/** A call's name as written, and its offset for messages. */
interface Name {
  readonly text: string;
  readonly at: number;
}

type Modifiers = Pick<Aggregate, 'filter' | 'nulls' | 'isFromLast' | 'over'>;

export class CallParser {
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionGrammar;
  private readonly windows: WindowParser;

  constructor(tokens: TokenReader, expressions: ExpressionGrammar) {
    this.tokens = tokens;
    this.expressions = expressions;
    this.windows = new WindowParser(tokens, expressions);
  }

  /** Whether the next identifier is the name of a function, with or without a namespace. */
  isCall(): boolean {
    const { tokens } = this;
    const follower = tokens.peek(1);
    return follower === '(' || (follower === ':' && this.isQualifiedCall());
  }

  /** `namespace:name(` or `namespace:bucket.scope.name(`. */
  private isQualifiedCall(): boolean {
    const { tokens } = this;
    if (tokens.value !== 'default' || tokens.peek(2) !== 'identifier') return false;
    if (tokens.peek(3) === '(') return true;
    return (
      [3, 5].every((at) => tokens.peek(at) === '.' && tokens.peek(at + 1) === 'identifier') &&
      tokens.peek(7) === '('
    );
  }

  call(): Expression {
    const { tokens } = this;
    if (tokens.peek(1) === ':') return this.userCall(this.functionName(), tokens.at);
    const text = tokens.value;
    tokens.next();
    const name: Name = { text, at: tokens.at };
    return this.arguments(name);
  }

  private arguments(name: Name): Expression {
    const { tokens } = this;
    tokens.expect('(');
    if (tokens.kind === '*' && tokens.peek(1) === ')') return this.countAll(name);
    const lower = name.text.toLowerCase();
    if (lower === 'flatten_keys') return this.flattenKeys(name);
    if (tokens.kind === 'distinct' || tokens.kind === 'all') return this.quantifiedAggregate(name, lower);
    const list = tokens.kind === ')' ? [] : this.expressions.expressions();
    tokens.expect(')');
    const rules = aggregateNamed(lower);
    if (rules !== undefined) return this.aggregate(name, lower, rules, list, false);
    return this.plainCall(name, lower, list);
  }

  private plainCall(name: Name, lower: string, list: readonly Expression[]): Expression {
    const { tokens } = this;
    const declared = functionNamed(lower);
    if (tokens.kind === 'over' || tokens.kind === 'filter') throw this.invalid(name);
    if (declared === undefined) {
      return {
        kind: 'user call',
        name: { namespace: undefined, parts: [name.text] },
        arguments: list,
        at: name.at,
      };
    }
    this.checkCount(name, declared, list.length);
    return { kind: 'call', name: lower, arguments: list, at: tokens.at };
  }

  private checkCount(
    name: Name,
    range: { readonly minimum: number; readonly maximum: number },
    count: number,
  ): void {
    const { minimum, maximum } = range;
    if (count >= minimum && count <= maximum) return;
    const expectedCount = minimum === maximum ? `${maximum}` : `between ${minimum} and ${maximum}`;
    throw sqlError(
      3000,
      `Number of arguments to function ${name.text}${this.tokens.near(name.at)} must be ${expectedCount}.`,
    );
  }

  private invalid(name: Name): Error {
    const near = this.tokens.near(name.at);
    return sqlError(3000, `Invalid function ${name.text}${near} (resolving to default:${name.text})`);
  }

  private countAll(name: Name): Expression {
    const { tokens } = this;
    const lower = name.text.toLowerCase();
    if (lower !== 'count') {
      throw sqlError(3000, `Invalid aggregate function ${name.text}(*)${tokens.near(name.at)}.`);
    }
    tokens.next();
    tokens.next();
    const modifiers = this.modifiers(lower);
    return { kind: 'aggregate', name: lower, arguments: [], isDistinct: false, ...modifiers, at: tokens.at };
  }

  /** `sum(DISTINCT x)`, `sum(ALL x)` */
  private quantifiedAggregate(name: Name, lower: string): Expression {
    const { tokens } = this;
    const isDistinct = tokens.kind === 'distinct';
    tokens.next();
    const list = [this.expressions.expression()];
    tokens.expect(')');
    const rules = aggregateNamed(lower);
    if (rules === undefined || (isDistinct && !rules.allowsDistinct)) {
      throw sqlError(3000, `Invalid aggregate function ${name.text}${tokens.near(name.at)}.`);
    }
    return this.aggregate(name, lower, rules, list, isDistinct);
  }

  private aggregate(
    name: Name,
    lower: string,
    rules: AggregateRules,
    list: readonly Expression[],
    isDistinct: boolean,
  ): Expression {
    const { tokens } = this;
    const modifiers = this.modifiers(lower);
    if (modifiers.over === undefined && !rules.isPlain) throw this.invalid(name);
    if (modifiers.nulls !== undefined && !rules.allowsNulls)
      throw this.misused('RESPECT|IGNORE NULLS syntax', name);
    if (modifiers.filter !== undefined && !rules.allowsFilter)
      throw this.misused('FILTER clause syntax', name);
    this.checkCount(name, rules, list.length);
    return { kind: 'aggregate', name: lower, arguments: list, isDistinct, ...modifiers, at: tokens.at };
  }

  private misused(syntax: string, name: Name): Error {
    return sqlError(3000, `${syntax} is not valid for function ${name.text}${this.tokens.near(name.at)}.`);
  }

  /** Parses the clauses after the arguments. */
  private modifiers(lower: string): Modifiers {
    const { tokens } = this;
    const filter = tokens.take('filter') ? this.filter() : undefined;
    // Only for NTH_VALUE: after other functions FROM begins the query's FROM.
    const isFromLast = lower === 'nth_value' && tokens.take('from') ? this.takeFirstOrLast() : false;
    const nulls = tokens.kind === 'respect' || tokens.kind === 'ignore' ? tokens.kind : undefined;
    if (nulls !== undefined) {
      tokens.next();
      tokens.expect('nulls');
    }
    const over = tokens.take('over') ? this.windows.over() : undefined;
    return { filter, nulls, isFromLast, over };
  }

  private filter(): Expression {
    const { tokens } = this;
    tokens.expect('(');
    tokens.expect('where');
    const condition = this.expressions.expression();
    tokens.expect(')');
    return condition;
  }

  /** Returns true for LAST. */
  private takeFirstOrLast(): boolean {
    if (this.tokens.take('last')) return true;
    this.tokens.expect('first');
    return false;
  }

  private flattenKeys(name: Name): Expression {
    const { tokens } = this;
    const keys: KeyTerm[] = [];
    if (tokens.kind !== ')') {
      do keys.push(this.keyTerm(this.expressions.expression()));
      while (tokens.take(','));
    }
    tokens.expect(')');
    this.checkCount(name, { minimum: 1, maximum: 32 }, keys.length);
    return { kind: 'flatten keys', keys, at: keys[0]?.expression.at ?? name.at };
  }

  /** An index key's expression with `ASC`, `DESC`, `INCLUDE MISSING` after it, each at most once. */
  keyTerm(expression: Expression): KeyTerm {
    const { tokens } = this;
    let direction: 'asc' | 'desc' | undefined;
    let includesMissing = false;
    for (;;) {
      const { kind } = tokens;
      if (kind === 'asc' || kind === 'desc') {
        if (direction !== undefined) throw tokens.problem('Duplicate or Invalid index key attribute');
        direction = kind;
        tokens.next();
      } else if (kind === 'include') {
        if (includesMissing) throw tokens.problem('Duplicate or Invalid index key attribute');
        tokens.next();
        tokens.expect('missing');
        includesMissing = true;
      } else return { expression, isDescending: direction === 'desc', includesMissing };
    }
  }

  private userCall(name: FunctionName, at: number): Expression {
    return { kind: 'user call', name, arguments: this.callArguments(), at };
  }

  callArguments(): Expression[] {
    const { tokens } = this;
    tokens.expect('(');
    const list = tokens.kind === ')' ? [] : this.expressions.expressions();
    tokens.expect(')');
    return list;
  }

  /** `name`, `namespace:name`, `namespace:bucket.scope.name`. */
  functionName(): FunctionName {
    const { tokens } = this;
    const first = tokens.name('the name of a function');
    const namespace = tokens.take(':') ? first : undefined;
    const parts = [namespace === undefined ? first : tokens.name('the name of a function')];
    while (tokens.take('.')) parts.push(tokens.name('the name of a function'));
    if (parts.length !== 1 && parts.length !== 3)
      throw tokens.unexpected('a bucket, a scope and the name of a function');
    return { namespace, parts };
  }
}
