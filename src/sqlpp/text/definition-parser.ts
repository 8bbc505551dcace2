// Parses statements about indexes, scopes, collections, functions, roles and statistics, and INFER.
import { sqlError } from '../errors/sql-error.ts';
import type {
  AlterIndex,
  BuildIndexes,
  CreateFunction,
  CreateIndex,
  DropIndex,
  ExecuteFunction,
  FlushCollection,
  FunctionBody,
  GrantRoles,
  Infer,
  UpdateStatistics,
} from '../tree/definition.ts';
import type { Expression, KeyTerm } from '../tree/expression.ts';
import type { KeyspacePath } from '../tree/query.ts';
import type { PlainStatement } from '../tree/statement.ts';
import type { Value } from '../values/value.ts';
import { CallParser } from './call-parser.ts';
import type { ExpressionParser } from './expression-parser.ts';
import type { FromParser } from './from-parser.ts';
import type { QueryParser } from './query-parser.ts';
import { staticValue } from './static-value.ts';
import type { TokenReader } from './token-reader.ts';

export class DefinitionParser {
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionParser;
  private readonly from: FromParser;
  private readonly calls: CallParser;

  constructor(queries: QueryParser) {
    this.tokens = queries.tokens;
    this.expressions = queries.expressions;
    this.from = queries.from;
    this.calls = new CallParser(queries.tokens, queries.expressions);
  }

  create(): PlainStatement {
    const { tokens } = this;
    tokens.expect('create');
    switch (tokens.kind) {
      case 'primary':
        tokens.next();
        return this.createIndex(true);
      case 'index':
        return this.createIndex(false);
      case 'scope': {
        tokens.next();
        const path = this.from.scopePath();
        return { kind: 'create scope', path, ifNotExists: this.ifNotExists() };
      }
      case 'collection': {
        tokens.next();
        const path = this.from.keyspacePath();
        return { kind: 'create collection', path, ifNotExists: this.ifNotExists() };
      }
      case 'or':
      case 'function':
        return this.createFunction();
      default:
        throw tokens.unexpected('PRIMARY INDEX, INDEX, SCOPE, COLLECTION or FUNCTION');
    }
  }

  drop(): PlainStatement {
    const { tokens } = this;
    tokens.expect('drop');
    switch (tokens.kind) {
      case 'primary':
        tokens.next();
        return this.dropPrimary();
      case 'index':
        return this.dropIndex();
      case 'scope': {
        tokens.next();
        const path = this.from.scopePath();
        return { kind: 'drop scope', path, ifExists: this.ifExists() };
      }
      case 'collection': {
        tokens.next();
        const path = this.from.keyspacePath();
        return { kind: 'drop collection', path, ifExists: this.ifExists() };
      }
      case 'function': {
        tokens.next();
        const name = this.calls.functionName();
        return { kind: 'drop function', name, ifExists: this.ifExists() };
      }
      default:
        throw tokens.unexpected('PRIMARY INDEX, INDEX, SCOPE, COLLECTION or FUNCTION');
    }
  }

  flush(): FlushCollection {
    this.tokens.next();
    this.tokens.expect('collection');
    return { kind: 'flush collection', path: this.from.keyspacePath() };
  }

  private ifNotExists(): boolean {
    if (!this.tokens.take('if')) return false;
    this.tokens.expect('not');
    this.tokens.expect('exists');
    return true;
  }

  private ifExists(): boolean {
    if (!this.tokens.take('if')) return false;
    this.tokens.expect('exists');
    return true;
  }

  // ---------- indexes

  private createIndex(isPrimary: boolean): CreateIndex {
    const { tokens } = this;
    tokens.expect('index');
    const leading = this.ifNotExists();
    const name =
      !isPrimary || tokens.kind === 'identifier' ? tokens.name('the name of the index') : undefined;
    const ifNotExists = leading || this.ifNotExists();
    tokens.expect('on');
    const keyspace = this.from.keyspacePath();
    const keys = isPrimary ? [] : this.keyTerms();
    const partitionBy = this.partition();
    const where = !isPrimary && tokens.take('where') ? this.expressions.expression() : undefined;
    const using = this.from.using();
    const options = this.with();
    return {
      kind: 'create index',
      name,
      keyspace,
      isPrimary,
      keys,
      partitionBy,
      where,
      using,
      with: options,
      ifNotExists,
    };
  }

  private keyTerms(): KeyTerm[] {
    const { tokens } = this;
    tokens.expect('(');
    const keys: KeyTerm[] = [];
    do keys.push(this.calls.keyTerm(this.expressions.keyExpression()));
    while (tokens.take(','));
    tokens.expect(')');
    return keys;
  }

  private partition(): readonly Expression[] {
    const { tokens } = this;
    if (!tokens.take('partition')) return [];
    tokens.expect('by');
    tokens.expect('hash');
    return this.bracketedExpressions();
  }

  private bracketedExpressions(): Expression[] {
    this.tokens.expect('(');
    const list = this.expressions.expressions();
    this.tokens.expect(')');
    return list;
  }

  /** `WITH value`: a constant. */
  private with(): Value {
    const { tokens } = this;
    if (!tokens.take('with')) return undefined;
    const value = staticValue(this.expressions.expression());
    if (value === undefined) throw tokens.problem('WITH value must be static');
    return value.value;
  }

  private dropPrimary(): DropIndex {
    const { tokens } = this;
    tokens.expect('index');
    const leading = this.ifExists();
    const name = tokens.kind === 'identifier' ? tokens.name() : undefined;
    const ifExists = leading || this.ifExists();
    tokens.expect('on');
    const keyspace = this.from.keyspacePath();
    return { kind: 'drop index', name, keyspace, isPrimary: true, using: this.from.using(), ifExists };
  }

  private dropIndex(): DropIndex {
    this.tokens.next();
    const leading = this.ifExists();
    const { name, keyspace, ifExists } = this.indexAt();
    const using = this.from.using();
    return { kind: 'drop index', name, keyspace, isPrimary: false, using, ifExists: leading || ifExists };
  }

  /** `name ON keyspace`, or the old `keyspace.name`. */
  private indexAt(): { name: string; keyspace: KeyspacePath; ifExists: boolean } {
    const { tokens } = this;
    const path = this.from.path();
    let { parts } = path;
    if (tokens.kind === '.') {
      tokens.next();
      parts = [...parts, tokens.name('the name of an index')];
    }
    const ifExists = this.ifExists();
    if (parts.length === 1 && path.namespace === undefined) {
      tokens.expect('on');
      return { name: parts[0] as string, keyspace: this.from.keyspacePath(), ifExists };
    }
    if (parts.length !== 2 && parts.length !== 4) throw tokens.unexpected('ON and the keyspace of the index');
    const keyspace: KeyspacePath = { ...path, parts: parts.slice(0, -1) };
    return { name: parts.at(-1) as string, keyspace, ifExists };
  }

  alter(): AlterIndex {
    const { tokens } = this;
    tokens.expect('alter');
    tokens.expect('index');
    const { name, keyspace } = this.indexAt();
    const using = this.from.using();
    if (tokens.kind !== 'with') throw tokens.unexpected('WITH');
    return { kind: 'alter index', name, keyspace, using, with: this.with() };
  }

  build(): BuildIndexes {
    const { tokens } = this;
    tokens.expect('build');
    tokens.expect('index');
    tokens.expect('on');
    const keyspace = this.from.keyspacePath();
    const names = this.bracketedExpressions();
    return { kind: 'build indexes', keyspace, names, using: this.from.using() };
  }

  // ---------- functions

  private createFunction(): CreateFunction {
    const { tokens } = this;
    const replaceAt = tokens.at;
    const isReplacing = tokens.take('or');
    if (isReplacing) tokens.expect('replace');
    tokens.expect('function');
    const leading = this.ifNotExists();
    const name = this.calls.functionName();
    const parameters = this.parameters();
    const ifNotExists = this.ifNotExists() || leading;
    if (isReplacing && ifNotExists) {
      throw sqlError(
        3000,
        `syntax error - OR REPLACE and IF NOT EXISTS are mutually exclusive${tokens.near(replaceAt)}`,
      );
    }
    return { kind: 'create function', name, parameters, body: this.functionBody(), isReplacing, ifNotExists };
  }

  private parameters(): readonly string[] | undefined {
    const { tokens } = this;
    tokens.expect('(');
    if (tokens.take('...')) {
      tokens.expect(')');
      return undefined;
    }
    const names: string[] = [];
    if (tokens.kind !== ')') {
      do names.push(tokens.name('the name of a parameter'));
      while (tokens.take(','));
    }
    tokens.expect(')');
    return names;
  }

  private functionBody(): FunctionBody {
    const { tokens } = this;
    if (tokens.kind === '{') {
      const start = tokens.at + 1;
      tokens.next();
      const expression = this.expressions.expression();
      const text = tokens.text.slice(start, tokens.at).trim();
      tokens.expect('}');
      return { language: 'inline', expression, text };
    }
    tokens.expect('language');
    const language = tokens.kind;
    if (language !== 'inline' && language !== 'javascript' && language !== 'golang') {
      throw tokens.unexpected('INLINE or JAVASCRIPT');
    }
    tokens.next();
    tokens.expect('as');
    if (language === 'inline') {
      const start = tokens.at;
      const expression = this.expressions.expression();
      return { language, expression, text: tokens.text.slice(start, tokens.lastEnd).trim() };
    }
    const object = this.string('the name of the function in its library, as a string');
    tokens.expect('at');
    return { language, object, library: this.string('the name of the library, as a string') };
  }

  private string(expected: string): string {
    const { tokens } = this;
    if (tokens.kind !== 'string literal') throw tokens.unexpected(expected);
    const { value } = tokens;
    tokens.next();
    return value;
  }

  executeFunction(): ExecuteFunction {
    this.tokens.expect('function');
    const name = this.calls.functionName();
    return { kind: 'execute function', name, arguments: this.calls.callArguments() };
  }

  // ---------- roles

  grant(kind: GrantRoles['kind']): GrantRoles {
    const { tokens } = this;
    tokens.next();
    const roles = [this.role()];
    while (tokens.take(',')) roles.push(this.role());
    const on: KeyspacePath[] = [];
    if (tokens.take('on')) {
      do on.push(this.from.path());
      while (tokens.take(','));
    }
    tokens.expect(kind === 'grant' ? 'to' : 'from');
    const users = [this.user()];
    while (tokens.take(',')) users.push(this.user());
    return { kind, roles, on, users };
  }

  private role(): string {
    const { tokens } = this;
    const { kind } = tokens;
    if (kind !== 'select' && kind !== 'insert' && kind !== 'update' && kind !== 'delete') {
      return tokens.name('the name of a role');
    }
    tokens.next();
    return kind;
  }

  private user(): string {
    const first = this.tokens.name('the name of a user');
    return this.tokens.take(':') ? `${first}:${this.tokens.name('the name of a user')}` : first;
  }

  // ---------- statistics

  infer(): Infer {
    const { tokens } = this;
    tokens.expect('infer');
    if (!tokens.take('keyspace')) tokens.take('collection');
    const keyspace = this.from.keyspacePath();
    this.from.alias();
    return { kind: 'infer', keyspace, with: this.with() };
  }

  /** `STATISTICS …` after UPDATE. */
  updateStatistics(): UpdateStatistics {
    const { tokens } = this;
    tokens.expect('statistics');
    const hasFor = tokens.take('for');
    if (hasFor && tokens.kind === 'index') return this.statisticsOfIndex();
    const keyspace = this.from.keyspacePath();
    return this.statisticsOf(keyspace, false);
  }

  analyze(): UpdateStatistics {
    const { tokens } = this;
    tokens.expect('analyze');
    if (tokens.kind === 'index') return this.statisticsOfIndex();
    if (!tokens.take('keyspace')) tokens.take('collection');
    return this.statisticsOf(this.from.keyspacePath(), true);
  }

  private statisticsOfIndex(): UpdateStatistics {
    const { tokens } = this;
    tokens.next();
    const { name, keyspace } = this.indexAt();
    this.from.using();
    const names: Expression[] = [{ kind: 'identifier', name, ignoresCase: false, at: tokens.at }];
    return { kind: 'update statistics', keyspace, action: { kind: 'indexes', names }, with: this.with() };
  }

  private statisticsOf(keyspace: KeyspacePath, isAnalyze: boolean): UpdateStatistics {
    const { tokens } = this;
    const kind = 'update statistics';
    if (tokens.take('delete')) {
      if (isAnalyze) tokens.expect('statistics');
      const isAll = isAnalyze ? tokens.kind !== '(' : tokens.take('all');
      return {
        kind,
        keyspace,
        action: { kind: 'delete', terms: isAll ? [] : this.terms() },
        with: undefined,
      };
    }
    if (!tokens.take('index')) {
      const terms = this.terms();
      return { kind, keyspace, action: { kind: 'terms', terms }, with: this.with() };
    }
    const action: UpdateStatistics['action'] = tokens.take('all')
      ? { kind: 'all indexes' }
      : { kind: 'indexes', names: this.bracketedExpressions() };
    this.from.using();
    return { kind, keyspace, action, with: this.with() };
  }

  private terms(): Expression[] {
    const { tokens } = this;
    tokens.expect('(');
    const terms = [this.expressions.keyExpression()];
    while (tokens.take(',')) terms.push(this.expressions.keyExpression());
    tokens.expect(')');
    return terms;
  }
}
