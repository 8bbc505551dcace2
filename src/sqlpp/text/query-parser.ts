// Parses SELECT and set operations.
import { sqlError } from '../errors/sql-error.ts';
import type { Expression } from '../tree/expression.ts';
import type {
  Binding,
  Group,
  Hints,
  Projection,
  ResultTerm,
  Select,
  SelectBody,
  SetOperation,
  Subselect,
  With,
  WithTerm,
} from '../tree/query.ts';
import { ExpressionParser } from './expression-parser.ts';
import { FromParser } from './from-parser.ts';
import { parseHints } from './hints.ts';
import type { TokenReader } from './token-reader.ts';
import { WindowParser } from './window-parser.ts';

/** Each set operation adds a level to the tree. */
const setOperationsMax = 1000;

export class QueryParser {
  readonly tokens: TokenReader;
  readonly expressions: ExpressionParser;
  readonly from: FromParser;
  private readonly windows: WindowParser;

  constructor(tokens: TokenReader) {
    this.tokens = tokens;
    this.expressions = new ExpressionParser(tokens, this);
    this.from = new FromParser(tokens, this.expressions);
    this.windows = new WindowParser(tokens, this.expressions);
  }

  select(): Select {
    const { at } = this.tokens;
    const terms = this.tokens.take('with') ? this.with() : undefined;
    return this.selectTail(terms, this.setOperations(this.firstBody()), at);
  }

  /** Parses the set operations after a query in parentheses. */
  setOperation(left: Select, at: number): Select {
    return this.selectTail(undefined, this.setOperations({ kind: 'nested select', select: left }), at);
  }

  private selectTail(terms: With | undefined, body: SelectBody, at: number): Select {
    const { tokens } = this;
    const orderBy = this.windows.orderBy();
    let limit: Expression | undefined;
    let offset: Expression | undefined;
    if (tokens.take('limit')) limit = this.expressions.expression();
    if (tokens.take('offset')) offset = this.expressions.expression();
    if (limit === undefined && tokens.take('limit')) limit = this.expressions.expression();
    return { kind: 'select', with: terms, body, orderBy, limit, offset, at };
  }

  private with(): With {
    const { tokens } = this;
    const isRecursive = tokens.isWord('recursive') && tokens.peek(1) === 'identifier';
    if (isRecursive) tokens.next();
    const terms = [this.withTerm()];
    while (tokens.take(',')) terms.push(this.withTerm());
    return { isRecursive, terms };
  }

  private withTerm(): WithTerm {
    const { tokens } = this;
    const alias = tokens.name();
    tokens.expect('as');
    if (tokens.kind !== '(') throw tokens.unexpected('an expression or a query in brackets');
    const expression = this.expressions.parenthesized();
    return { alias, expression, at: expression.at };
  }

  private firstBody(): SelectBody {
    const { tokens } = this;
    if (tokens.kind !== '(') return this.subselect();
    const body = this.nested();
    if (!this.isSetOperator()) throw tokens.unexpected('UNION, INTERSECT or EXCEPT');
    return body;
  }

  private isSetOperator(): boolean {
    const { kind } = this.tokens;
    return kind === 'union' || kind === 'intersect' || kind === 'except';
  }

  /** Operators of one precedence, left-associative. */
  private setOperations(first: SelectBody): SelectBody {
    const { tokens } = this;
    let left = first;
    for (let count = 0; this.isSetOperator(); count++) {
      if (count >= setOperationsMax)
        throw tokens.problem(`A statement has at most ${setOperationsMax} set operations`);
      const operator = tokens.kind as SetOperation['operator'];
      tokens.next();
      const isAll = tokens.take('all');
      const right = tokens.kind === '(' ? this.nested() : this.subselect();
      left = { kind: 'set operation', operator, isAll, left, right };
    }
    return left;
  }

  private nested(): SelectBody {
    const { tokens } = this;
    const inner = this.expressions.parenthesized();
    if (inner.kind !== 'subquery') throw tokens.unexpected('a query in brackets');
    return { kind: 'nested select', select: inner.select };
  }

  private subselect(): Subselect {
    const { tokens } = this;
    const { at } = tokens;
    tokens.enter();
    const subselect = tokens.kind === 'from' ? this.fromSelect(at) : this.selectFrom(at);
    tokens.leave();
    return subselect;
  }

  /** SELECT … FROM … */
  private selectFrom(at: number): Subselect {
    const { tokens } = this;
    tokens.expect('select');
    const hints = this.hints();
    const projection = this.projection();
    const from = tokens.kind === 'from' ? this.from.clause() : undefined;
    return { kind: 'subselect', hints, projection, from, ...this.clauses(), at };
  }

  /** FROM … SELECT … */
  private fromSelect(at: number): Subselect {
    const from = this.from.clause();
    const clauses = this.clauses();
    this.tokens.expect('select');
    const hints = this.hints();
    return { kind: 'subselect', hints, projection: this.projection(), from, ...clauses, at };
  }

  private clauses(): Pick<Subselect, 'let' | 'where' | 'group' | 'windows'> {
    const { tokens } = this;
    const bindings = tokens.take('let') ? this.bindings() : [];
    const where = this.where();
    const group = this.group();
    return { let: bindings, where, group, windows: tokens.take('window') ? this.windowList() : [] };
  }

  where(): Expression | undefined {
    return this.tokens.take('where') ? this.expressions.expression() : undefined;
  }

  private hints(): Hints | undefined {
    const { tokens } = this;
    if (tokens.kind !== 'hints') return undefined;
    const hints = parseHints(tokens.value);
    tokens.next();
    return hints;
  }

  private bindings(): Binding[] {
    const list = [this.binding()];
    while (this.tokens.take(',')) list.push(this.binding());
    return list;
  }

  private binding(): Binding {
    const name = this.tokens.name();
    this.tokens.expect('=');
    const expression = this.expressions.expression();
    return { name, expression, at: expression.at };
  }

  private group(): Group | undefined {
    const { tokens } = this;
    if (tokens.kind !== 'group') {
      return tokens.take('letting')
        ? { by: [], as: undefined, letting: this.bindings(), having: undefined }
        : undefined;
    }
    tokens.next();
    tokens.expect('by');
    const by: { expression: Expression; alias: string | undefined }[] = [];
    do {
      const expression = this.expressions.expression();
      by.push({ expression, alias: this.from.alias() });
    } while (tokens.take(','));
    const as = this.groupAs();
    const letting = tokens.take('letting') ? this.bindings() : [];
    const having = tokens.take('having') ? this.expressions.expression() : undefined;
    return { by, as, letting, having };
  }

  private groupAs(): string | undefined {
    if (!this.tokens.take('group')) return undefined;
    this.tokens.expect('as');
    return this.tokens.name();
  }

  private windowList(): Subselect['windows'] {
    const { tokens } = this;
    const list: { name: string; window: Subselect['windows'][number]['window'] }[] = [];
    do {
      const name = tokens.name();
      tokens.expect('as');
      list.push({ name, window: this.windows.specification() });
    } while (tokens.take(','));
    return list;
  }

  private projection(): Projection {
    const { tokens } = this;
    const isDistinct = tokens.take('distinct');
    if (!isDistinct) tokens.take('all');
    if (tokens.kind === 'raw' || tokens.kind === 'element' || tokens.kind === 'value') {
      return { ...this.rawProjection(), isDistinct };
    }
    return { isDistinct, isRaw: false, terms: this.resultTerms(), exclude: this.exclude() };
  }

  private rawProjection(): Projection {
    this.tokens.next();
    const expression = this.expressions.expression();
    const alias = this.from.alias();
    return { isDistinct: false, isRaw: true, terms: [{ kind: 'term', expression, alias }], exclude: [] };
  }

  private exclude(): readonly Expression[] {
    return this.tokens.take('exclude') ? this.expressions.expressions() : [];
  }

  /** RETURNING of a change, or nothing. */
  returning(): Projection | undefined {
    const { tokens } = this;
    if (!tokens.take('returning')) return undefined;
    if (tokens.kind === 'raw' || tokens.kind === 'element' || tokens.kind === 'value')
      return this.rawProjection();
    return { isDistinct: false, isRaw: false, terms: this.resultTerms(), exclude: [] };
  }

  private resultTerms(): ResultTerm[] {
    const list = [this.resultTerm()];
    while (this.tokens.take(',')) list.push(this.resultTerm());
    return list;
  }

  private resultTerm(): ResultTerm {
    const { tokens } = this;
    const { at } = tokens;
    if (tokens.take('*')) return { kind: 'star', of: undefined, at };
    const expression = this.expressions.expression();
    if (expression.kind === 'all keys') {
      throw sqlError(
        3000,
        `syntax error - ${expression.isDistinct ? 'DISTINCT' : 'ALL'} out of place${tokens.place()}`,
      );
    }
    if (tokens.kind !== '.') return { kind: 'term', expression, alias: this.from.alias() };
    tokens.next();
    tokens.expect('*');
    return { kind: 'star', of: expression, at: expression.at };
  }
}
