// Parses FROM clauses, and names of keyspaces in other clauses.
import { sqlError } from '../errors/sql-error.ts';
import type { Expression } from '../tree/expression.ts';
import type {
  FromTerm,
  IndexRef,
  IndexUsing,
  Join,
  JoinCondition,
  KeyspacePath,
  KeyspaceTerm,
  Nest,
  SimpleTerm,
  Unnest,
  Use,
} from '../tree/query.ts';
import { formatFromTerm } from './format.ts';
import type { ExpressionGrammar } from './grammar.ts';
import type { TokenKind } from './scanner.ts';
import type { TokenReader } from './token-reader.ts';

/** Each term or join adds a level to the tree. */
const termsMax = 1000;

/** What follows the keyword LATERAL. Before anything else, `lateral` is a name. */
const lateralFollowers: ReadonlySet<TokenKind> = new Set(['(', 'identifier', '[', 'literal']);

const noUse: Use = { keys: undefined, indexes: [], join: undefined };

export class FromParser {
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionGrammar;

  constructor(tokens: TokenReader, expressions: ExpressionGrammar) {
    this.tokens = tokens;
    this.expressions = expressions;
  }

  /** FROM and its terms. */
  clause(): FromTerm {
    const { tokens } = this;
    tokens.expect('from');
    let left = this.term();
    for (let count = 0; tokens.kind === ','; count++) {
      if (count >= termsMax) throw tokens.problem(`FROM has at most ${termsMax} terms`);
      const { at } = tokens;
      tokens.next();
      const isLateral = this.lateral();
      const right = this.term();
      if (right.kind === 'join' || right.kind === 'nest' || right.kind === 'unnest')
        throw this.notSimple(right);
      left = { kind: 'join', join: 'inner', left, right, on: { kind: 'none' }, isLateral, at };
    }
    return left;
  }

  private notSimple(term: Join | Nest | Unnest): Error {
    const place = this.tokens.near(
      term.kind !== 'unnest' && term.on.kind === 'on' ? term.on.condition.at : term.at,
    );
    return sqlError(
      3000,
      `Right side (${formatFromTerm(term)}${place}) of a COMMA in a FROM clause must be a simple term or sub-query`,
    );
  }

  private lateral(): boolean {
    const { tokens } = this;
    const isLateral = tokens.isWord('lateral') && lateralFollowers.has(tokens.peek(1));
    if (isLateral) tokens.next();
    return isLateral;
  }

  private term(): FromTerm {
    let left: FromTerm = this.simpleTerm();
    for (let count = 0; ; count++) {
      if (count >= termsMax) throw this.tokens.problem(`FROM has at most ${termsMax} joins`);
      const next = this.joined(left);
      if (next === undefined) return left;
      left = next;
    }
  }

  /** Parses the next JOIN, NEST or UNNEST, if any. */
  private joined(left: FromTerm): FromTerm | undefined {
    const { tokens } = this;
    const { kind, at } = tokens;
    if (kind === 'right') return this.rightJoin(left, at);
    const join = kind === 'left' ? 'left' : 'inner';
    if (kind === 'left') {
      tokens.next();
      tokens.take('outer');
    } else tokens.take('inner');
    switch (tokens.kind) {
      case 'join': {
        tokens.next();
        const isLateral = this.lateral();
        const right = this.simpleTerm();
        return { kind: 'join', join, left, right, on: this.condition('JOIN', right), isLateral, at };
      }
      case 'nest': {
        tokens.next();
        const right = this.simpleTerm();
        return { kind: 'nest', join, left, right, on: this.condition('NEST', right), at };
      }
      case 'unnest':
      case 'flatten': {
        tokens.next();
        const expression = this.expressions.expression();
        return { kind: 'unnest', join, left, expression, alias: this.alias(), at };
      }
      default:
        if (kind === 'left' || kind === 'inner') throw tokens.unexpected('JOIN, NEST or UNNEST');
        return undefined;
    }
  }

  private rightJoin(left: FromTerm, at: number): Join {
    const { tokens } = this;
    if (left.kind === 'join' || left.kind === 'nest' || left.kind === 'unnest') {
      throw tokens.unexpected('RIGHT JOIN only after a keyspace, an expression or a subquery');
    }
    tokens.next();
    tokens.take('outer');
    tokens.expect('join');
    const right = this.simpleTerm();
    tokens.expect('on');
    const condition = this.expressions.expression();
    return { kind: 'join', join: 'right', left, right, on: { kind: 'on', condition }, isLateral: false, at };
  }

  private condition(operation: string, right: SimpleTerm): JoinCondition {
    const { tokens } = this;
    tokens.expect('on');
    if (tokens.kind === 'primary') tokens.next();
    if (tokens.take('keys')) {
      const keys = this.expressions.expression();
      this.checkKeyspace(operation, right);
      return { kind: 'on keys', keys };
    }
    if (!tokens.take('key')) return { kind: 'on', condition: this.expressions.expression() };
    const key = this.expressions.expression();
    tokens.expect('for');
    const alias = tokens.name();
    this.checkKeyspace(operation, right);
    return { kind: 'on key', key, for: alias };
  }

  private checkKeyspace(operation: string, right: SimpleTerm): void {
    if (right.kind !== 'keyspace') throw this.tokens.problem(`${operation} must be done on a keyspace`);
  }

  simpleTerm(): SimpleTerm {
    const { tokens } = this;
    const { at } = tokens;
    const hasNamespace = (tokens.kind === 'system' || tokens.kind === 'identifier') && tokens.peek(1) === ':';
    if (hasNamespace) return this.keyspaceTerm(at);
    const isBracketed = tokens.kind === '(';
    const expression = this.expressions.expression();
    const alias = this.alias();
    const use = this.use();
    if (expression.kind === 'subquery') return this.subqueryTerm(expression, alias, use, at);
    const parts = isBracketed ? undefined : partsOf(expression);
    if (parts !== undefined && parts.length !== 2) {
      const path: KeyspacePath = { namespace: undefined, parts, at: expression.at };
      return { kind: 'keyspace', path, expression, alias, use, at };
    }
    const isParameter = expression.kind === 'named parameter' || expression.kind === 'positional parameter';
    const hasKeys = use.keys !== undefined && !isParameter;
    if (hasKeys || use.indexes.length > 0) {
      const termText = isParameter ? 'FROM <placeholder>' : 'FROM Expression';
      throw sqlError(3000, `${termText}${tokens.near(expression.at)} cannot have USE KEYS or USE INDEX.`);
    }
    return { kind: 'expression', expression, alias, use, at };
  }

  private subqueryTerm(
    subquery: Extract<Expression, { kind: 'subquery' }>,
    alias: string | undefined,
    use: Use,
    at: number,
  ): SimpleTerm {
    const near = this.tokens.near(subquery.at);
    if (alias === undefined) throw sqlError(3000, `Subquery${near} in FROM clause must have an alias.`);
    if (use.keys !== undefined || use.indexes.length > 0) {
      throw sqlError(3000, `FROM Subquery cannot have USE KEYS or USE INDEX${near}.`);
    }
    return { kind: 'subquery term', select: subquery.select, alias, use, at };
  }

  private keyspaceTerm(at: number): KeyspaceTerm {
    const path = this.keyspacePath();
    return { kind: 'keyspace', path, expression: undefined, alias: this.alias(), use: this.use(), at };
  }

  /** The target of MERGE INTO and similar: a keyspace's path with an alias and USE. */
  target(): KeyspaceTerm {
    return this.keyspaceTerm(this.tokens.at);
  }

  /** `name`, `namespace:name`, `bucket.scope.name`, `namespace:bucket.scope.name`. */
  keyspacePath(): KeyspacePath {
    const path = this.path();
    if (path.parts.length === 2) throw this.tokens.unexpected('a collection: bucket.scope.collection');
    return path;
  }

  /** `bucket.scope`, with a namespace or without. */
  scopePath(): KeyspacePath {
    const path = this.path();
    if (path.parts.length !== 2) throw this.tokens.unexpected('a scope: bucket.scope');
    return path;
  }

  path(): KeyspacePath {
    const { tokens } = this;
    const { at } = tokens;
    const namespace = this.namespace();
    const parts = [this.keyspaceName()];
    while (parts.length < 3 && tokens.kind === '.') {
      tokens.next();
      parts.push(this.keyspaceName());
    }
    return { namespace, parts, at };
  }

  private namespace(): string | undefined {
    const { tokens } = this;
    if (tokens.kind === 'system' && tokens.peek(1) === ':') {
      tokens.next();
      tokens.next();
      return 'system';
    }
    if (tokens.kind !== 'identifier' || tokens.peek(1) !== ':') return undefined;
    const name = tokens.value;
    tokens.next();
    tokens.next();
    return name;
  }

  private keyspaceName(): string {
    const { tokens } = this;
    const { at } = tokens;
    const name = tokens.name('the name of a keyspace');
    if (name.trim() !== name || name === '')
      throw sqlError(3000, `Invalid identifier '${name}'${tokens.near(at)}`);
    return name;
  }

  /** `AS name`, `name`, or nothing. */
  alias(): string | undefined {
    const { tokens } = this;
    if (tokens.take('as')) return tokens.name();
    return tokens.kind === 'identifier' ? tokens.name() : undefined;
  }

  use(): Use {
    const { tokens } = this;
    if (!tokens.take('use')) return noUse;
    let use = this.useOption(noUse);
    const hasHint = use.join !== undefined;
    const { kind } = tokens;
    const isHint = kind === 'hash' || kind === 'nl';
    const isAccess = kind === 'keys' || kind === 'primary' || kind === 'index';
    if (hasHint ? isAccess : isHint) use = this.useOption(use);
    return use;
  }

  private useOption(use: Use): Use {
    const { tokens } = this;
    if (tokens.take('index')) return { ...use, indexes: this.indexRefs() };
    if (tokens.take('nl')) return { ...use, join: 'nl' };
    if (tokens.take('hash')) {
      tokens.expect('(');
      const isBuild = tokens.take('build');
      if (!isBuild) tokens.expect('probe');
      tokens.expect(')');
      return { ...use, join: isBuild ? 'hash build' : 'hash probe' };
    }
    tokens.take('primary');
    tokens.expect('keys');
    return { ...use, keys: this.expressions.expression() };
  }

  private indexRefs(): IndexRef[] {
    const { tokens } = this;
    tokens.expect('(');
    const list: IndexRef[] = [];
    do {
      const name = tokens.kind === 'identifier' ? tokens.name() : undefined;
      list.push({ name, using: this.using() });
    } while (tokens.take(','));
    tokens.expect(')');
    return list;
  }

  /** `USING GSI`, or nothing. */
  using(): IndexUsing | undefined {
    const { tokens } = this;
    if (!tokens.take('using')) return undefined;
    const { kind } = tokens;
    if (kind !== 'gsi' && kind !== 'view' && kind !== 'fts') throw tokens.unexpected('GSI, VIEW or FTS');
    tokens.next();
    return kind;
  }
}

/** The names of a path of plain names, or undefined. */
function partsOf(expression: Expression): readonly string[] | undefined {
  const parts: string[] = [];
  let at = expression;
  while (
    at.kind === 'field' &&
    !at.ignoresCase &&
    at.name.kind === 'constant' &&
    typeof at.name.value === 'string'
  ) {
    parts.unshift(at.name.value);
    at = at.of;
  }
  if (at.kind !== 'identifier' || at.ignoresCase || parts.length > 2) return undefined;
  return [at.name, ...parts];
}
