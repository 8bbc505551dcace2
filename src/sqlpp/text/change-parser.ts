// Parses INSERT, UPSERT, UPDATE, DELETE and MERGE.
import { sqlError } from '../errors/sql-error.ts';
import type {
  Delete,
  Insert,
  InsertRow,
  InsertSource,
  Merge,
  MergeInsert,
  MergeUpdate,
  SetTerm,
  Target,
  UnsetTerm,
  Update,
  UpdateFor,
} from '../tree/change.ts';
import type { Expression, RangeBinding } from '../tree/expression.ts';
import type { Use } from '../tree/query.ts';
import type { ExpressionParser } from './expression-parser.ts';
import type { FromParser } from './from-parser.ts';
import { chainMax, chainTooLong } from './path-parser.ts';
import type { QueryParser } from './query-parser.ts';
import type { TokenReader } from './token-reader.ts';

export class ChangeParser {
  private readonly queries: QueryParser;
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionParser;
  private readonly from: FromParser;

  constructor(queries: QueryParser) {
    this.queries = queries;
    this.tokens = queries.tokens;
    this.expressions = queries.expressions;
    this.from = queries.from;
  }

  insert(kind: Insert['kind']): Insert {
    const { tokens } = this;
    tokens.next();
    tokens.expect('into');
    const into = this.target();
    const source = this.source();
    return { kind, into, source, returning: this.queries.returning() };
  }

  private target(): Target {
    const path = this.expressions.isParameter() ? this.expressions.parameter() : this.from.keyspacePath();
    return { path, alias: this.from.alias() };
  }

  private source(): InsertSource {
    const { tokens } = this;
    if (tokens.kind === '(') {
      // `(KEY, VALUE)` before VALUES has no effect; `(KEY x, VALUE y)` precedes a query.
      const keyAt = tokens.peek(1) === 'primary' ? 2 : 1;
      if (tokens.peek(keyAt) !== 'key') throw this.keyMissing();
      if (tokens.peek(keyAt + 1) === ',' && this.isValuesHeader(keyAt + 2)) this.skipValuesHeader();
      else return this.querySource();
    }
    return { kind: 'values', rows: this.rows() };
  }

  private keyMissing(): Error {
    this.tokens.next();
    return this.tokens.unexpected('KEY');
  }

  private isValuesHeader(at: number): boolean {
    const { tokens } = this;
    if (tokens.peek(at) !== 'value') return false;
    return (
      tokens.peek(at + 1) === ')' ||
      (tokens.peek(at + 1) === ',' && tokens.peek(at + 2) === 'options' && tokens.peek(at + 3) === ')')
    );
  }

  private skipValuesHeader(): void {
    while (!this.tokens.take(')')) this.tokens.next();
  }

  private rows(): InsertRow[] {
    const { tokens } = this;
    tokens.expect('values');
    const rows = [this.row()];
    while (tokens.take(',')) {
      tokens.take('values');
      rows.push(this.row());
    }
    return rows;
  }

  private row(): InsertRow {
    const { tokens } = this;
    tokens.expect('(');
    const key = this.expressions.expression();
    tokens.expect(',');
    const value = this.expressions.expression();
    const options = tokens.take(',') ? this.expressions.expression() : undefined;
    tokens.expect(')');
    return { key, value, options };
  }

  private querySource(): InsertSource {
    const header = this.header();
    return { kind: 'query', ...header, select: this.queries.select() };
  }

  /** `(KEY k, VALUE v, OPTIONS o)` */
  private header(): { key: Expression; value: Expression | undefined; options: Expression | undefined } {
    const { tokens } = this;
    tokens.expect('(');
    tokens.take('primary');
    tokens.expect('key');
    const key = this.expressions.expression();
    let value: Expression | undefined;
    let options: Expression | undefined;
    if (tokens.take(',')) {
      if (tokens.take('value')) {
        value = this.expressions.expression();
        if (tokens.take(',')) {
          tokens.expect('options');
          options = this.expressions.expression();
        }
      } else {
        tokens.expect('options');
        options = this.expressions.expression();
      }
    }
    tokens.expect(')');
    return { key, value, options };
  }

  delete(): Delete {
    const { tokens } = this;
    tokens.expect('delete');
    this.skipHints();
    tokens.expect('from');
    const from = this.target();
    const { keys, indexes } = this.useOfChange();
    const where = this.queries.where();
    const limit = tokens.take('limit') ? this.expressions.expression() : undefined;
    const offset = tokens.take('offset') ? this.expressions.expression() : undefined;
    return { kind: 'delete', from, keys, indexes, where, limit, offset, returning: this.queries.returning() };
  }

  private skipHints(): void {
    this.tokens.take('hints');
  }

  private useOfChange(): Use {
    const use = this.from.use();
    if (use.join !== undefined) {
      throw this.tokens.problem(
        'Keyspace reference cannot have join hint (USE HASH or USE NL) in DELETE or UPDATE statement',
      );
    }
    return use;
  }

  update(): Update {
    const { tokens } = this;
    tokens.expect('update');
    this.skipHints();
    const target = this.target();
    const { keys, indexes } = this.useOfChange();
    const { set, unset } = this.assignments();
    const where = this.queries.where();
    const limit = tokens.take('limit') ? this.expressions.expression() : undefined;
    return {
      kind: 'update',
      target,
      keys,
      indexes,
      set,
      unset,
      where,
      limit,
      returning: this.queries.returning(),
    };
  }

  private assignments(): { set: SetTerm[]; unset: UnsetTerm[] } {
    const { tokens } = this;
    if (tokens.kind !== 'set' && tokens.kind !== 'unset') throw tokens.unexpected('SET or UNSET');
    const set: SetTerm[] = [];
    const unset: UnsetTerm[] = [];
    if (tokens.take('set')) {
      do set.push(this.setTerm());
      while (tokens.take(','));
    }
    if (tokens.take('unset')) {
      do unset.push(this.unsetTerm());
      while (tokens.take(','));
    }
    return { set, unset };
  }

  private setTerm(): SetTerm {
    const { meta, path } = this.path();
    this.tokens.expect('=');
    const value = this.expressions.expression();
    return { path, value, meta, for: this.updateFor() };
  }

  private unsetTerm(): UnsetTerm {
    const { meta, path } = this.path();
    return { path, meta, for: this.updateFor() };
  }

  /** `a.b[0].[c]`, or of metadata: `META(k).expiration`. */
  private path(): { meta: Expression | undefined; path: Expression } {
    const { tokens } = this;
    if (tokens.kind !== 'identifier' || tokens.peek(1) !== '(')
      return { meta: undefined, path: this.plainPath() };
    const { value } = tokens;
    const hasNoArgument = this.isMetaWithoutArgument();
    if (value.toLowerCase() !== 'meta') {
      throw sqlError(3000, `Invalid arguments to function ${value}${tokens.near(tokens.at)}`);
    }
    tokens.next();
    tokens.next();
    const metaArguments = hasNoArgument ? [] : [this.expressions.expression()];
    tokens.expect(')');
    const meta: Expression = { kind: 'call', name: 'meta', arguments: metaArguments, at: tokens.at };
    tokens.expect('.');
    return { meta, path: this.plainPath() };
  }

  private isMetaWithoutArgument(): boolean {
    return this.tokens.peek(2) === ')';
  }

  private plainPath(): Expression {
    const { tokens } = this;
    const name = tokens.name('the name of a field');
    let path: Expression = { kind: 'identifier', name, ignoresCase: false, at: tokens.at };
    for (let chain = 0; ; chain++) {
      if (chain > chainMax) throw chainTooLong(tokens);
      if (tokens.take('[')) {
        const index = this.expressions.expression();
        tokens.expect(']');
        path = { kind: 'element', of: path, index, at: path.at };
      } else if (tokens.take('.')) path = this.pathField(path);
      else return path;
    }
  }

  private pathField(base: Expression): Expression {
    const { tokens } = this;
    const { at } = tokens;
    if (tokens.take('[')) {
      const name = this.expressions.expression();
      const ignoresCase = tokens.take(']i');
      if (!ignoresCase) tokens.expect(']');
      return { kind: 'field', of: base, name, ignoresCase, at };
    }
    const ignoresCase = tokens.kind === 'identifier without case';
    if (tokens.kind !== 'identifier' && !ignoresCase) throw tokens.unexpected('the name of a field');
    const name: Expression = { kind: 'constant', value: tokens.value, at };
    tokens.next();
    return { kind: 'field', of: base, name, ignoresCase, at };
  }

  private updateFor(): UpdateFor | undefined {
    const { tokens } = this;
    if (tokens.kind !== 'for') return undefined;
    // The last dimension is the outermost.
    const dimensions: (readonly RangeBinding[])[] = [];
    while (tokens.take('for')) dimensions.unshift(this.expressions.rangeBindings());
    const when = tokens.take('when') ? this.expressions.expression() : undefined;
    tokens.expect('end');
    return { dimensions, when };
  }

  merge(): Merge {
    const { tokens } = this;
    tokens.expect('merge');
    this.skipHints();
    tokens.expect('into');
    const into = this.from.target();
    if (into.use.keys !== undefined) {
      throw tokens.problem('Keyspace reference cannot have USE KEYS hint in MERGE statement');
    }
    if (into.use.join !== undefined) {
      throw tokens.problem(
        'Keyspace reference cannot have join hint (USE HASH or USE NL) in MERGE statement',
      );
    }
    tokens.expect('using');
    const using = this.from.simpleTerm();
    tokens.expect('on');
    const isOnKey = this.onKey();
    const on = this.expressions.expression();
    const actions = this.actions();
    const limit = tokens.take('limit') ? this.expressions.expression() : undefined;
    return {
      kind: 'merge',
      into,
      using,
      isOnKey,
      on,
      ...actions,
      limit,
      returning: this.queries.returning(),
    };
  }

  private onKey(): boolean {
    const { tokens } = this;
    if (tokens.kind === 'primary') {
      tokens.next();
      tokens.expect('key');
      return true;
    }
    return tokens.take('key');
  }

  /** WHEN MATCHED THEN UPDATE, DELETE, WHEN NOT MATCHED THEN INSERT, each once, in this order. */
  private actions(): Pick<Merge, 'update' | 'delete' | 'insert'> {
    const { tokens } = this;
    let update: MergeUpdate | undefined;
    let deletion: Merge['delete'];
    while (tokens.kind === 'when' && tokens.peek(1) === 'matched') {
      tokens.next();
      tokens.next();
      tokens.expect('then');
      if (tokens.is('update') && update === undefined && deletion === undefined) {
        tokens.next();
        update = { ...this.assignments(), where: this.queries.where() };
      } else if (tokens.is('delete') && deletion === undefined) {
        tokens.next();
        deletion = { where: this.queries.where() };
      } else throw tokens.unexpected('UPDATE or DELETE, each once, UPDATE first');
    }
    return { update, delete: deletion, insert: tokens.take('when') ? this.notMatched() : undefined };
  }

  private notMatched(): MergeInsert {
    const { tokens } = this;
    tokens.expect('not');
    tokens.expect('matched');
    tokens.expect('then');
    tokens.expect('insert');
    return this.mergeInsert();
  }

  private mergeInsert(): MergeInsert {
    const { tokens } = this;
    const isHeader =
      tokens.kind === '(' &&
      (tokens.peek(1) === 'key' || (tokens.peek(1) === 'primary' && tokens.peek(2) === 'key'));
    if (isHeader) return { ...this.header(), where: this.queries.where() };
    const none = { key: undefined, options: undefined };
    if (tokens.kind !== '(')
      return { ...none, value: this.expressions.expression(), where: this.queries.where() };
    return { ...this.pairOrValue(), where: this.queries.where() };
  }

  /** `(key, value[, options])`, or an expression that begins with a parenthesis. */
  private pairOrValue(): Omit<MergeInsert, 'where'> {
    if (this.isPair()) return this.row();
    return { key: undefined, value: this.expressions.expression(), options: undefined };
  }

  /** Whether the parentheses contain a comma and no query. */
  private isPair(): boolean {
    let depth = 0;
    for (let at = 0; ; at++) {
      const kind = this.tokens.peek(at);
      if (kind === '(' || kind === '[' || kind === '{') depth++;
      else if (kind === ')' || kind === ']' || kind === ']i' || kind === '}') depth--;
      else if (depth === 1 && kind === ',') return true;
      if (kind === 'end of input' || depth === 0 || (depth === 1 && kind === 'select')) return false;
    }
  }
}
