// Parses statements, and single expressions (keys of stored indexes).
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import type { Expression } from '../tree/expression.ts';
import type {
  Advise,
  BeginTransaction,
  Execute,
  Explain,
  PlainStatement,
  Prepare,
  RollbackTransaction,
  Statement,
} from '../tree/statement.ts';
import { ChangeParser } from './change-parser.ts';
import { DefinitionParser } from './definition-parser.ts';
import { QueryParser } from './query-parser.ts';
import { TokenReader } from './token-reader.ts';

/** The longest statement in characters. */
export const statementMax = 1_048_576;

/** Throws SqlError 3000 with line, column and word. `at` of nodes is an offset in `text.trim()`. */
export function parseStatement(text: string): Statement {
  return resultOf(parseSteps(text));
}

/** Like `parseStatement`, in two steps. */
export function* parseSteps(text: string): WorkSteps<Statement> {
  if (text.length > statementMax) {
    throw sqlError(3000, `Statement has ${text.length} characters; at most ${statementMax} are allowed`);
  }
  const parser = new StatementParser(cleaned(text));
  yield;
  return parser.whole();
}

/** Parses a single expression; it may begin with ALL or DISTINCT. */
export function parseExpression(text: string): Expression {
  const queries = new QueryParser(new TokenReader(cleaned(text)));
  const expression = queries.expressions.keyExpression();
  if (queries.tokens.kind !== 'end of input') throw queries.tokens.unexpected('the end of the expression');
  return expression;
}

/** A text from JSON may have unpaired surrogates: they become U+FFFD, as escaped ones do, since documents are UTF-8. */
const cleaned = (text: string): string => text.trim().toWellFormed();

class StatementParser {
  private readonly tokens: TokenReader;
  private readonly queries: QueryParser;

  constructor(text: string) {
    this.tokens = new TokenReader(text);
    this.queries = new QueryParser(this.tokens);
  }

  whole(): Statement {
    const statement = this.statement();
    while (this.tokens.take(';'));
    if (this.tokens.kind !== 'end of input') throw this.tokens.unexpected('the end of the statement');
    return statement;
  }

  private statement(): Statement {
    switch (this.tokens.kind) {
      case 'explain':
        return this.explain();
      case 'advise':
        return this.advise();
      case 'prepare':
        return this.prepare();
      case 'execute':
        return this.execute();
      default:
        return this.plain();
    }
  }

  private explain(): Explain {
    this.tokens.next();
    const start = this.tokens.at;
    const statement = this.plain();
    return { kind: 'explain', statement, text: this.tokens.text.slice(start) };
  }

  private advise(): Advise {
    this.tokens.next();
    this.tokens.take('index');
    const start = this.tokens.at;
    const statement = this.plain();
    return { kind: 'advise', statement, text: this.tokens.text.slice(start) };
  }

  private prepare(): Prepare {
    const { tokens } = this;
    tokens.next();
    const isForced = tokens.take('force');
    let name: string | undefined;
    const hasName = tokens.kind === 'identifier' || tokens.kind === 'string literal';
    if (hasName && (tokens.peek(1) === 'from' || tokens.peek(1) === 'as')) {
      name = tokens.value;
      tokens.next();
      tokens.next();
    }
    const start = tokens.at;
    const statement = this.plain();
    return { kind: 'prepare', name, isForced, statement, text: tokens.text.slice(start) };
  }

  private execute(): Execute | PlainStatement {
    const { tokens } = this;
    tokens.next();
    if (tokens.kind === 'function') return new DefinitionParser(this.queries).executeFunction();
    const prepared = this.queries.expressions.expression();
    return { kind: 'execute', prepared, using: tokens.take('using') ? this.using() : undefined };
  }

  private using(): Expression {
    const { tokens } = this;
    if (tokens.kind !== '{' && tokens.kind !== '[' && tokens.kind !== 'literal')
      throw tokens.unexpected('an object or an array of arguments');
    return this.queries.expressions.expression();
  }

  private plain(): PlainStatement {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'select':
      case 'from':
      case 'with':
        return this.queries.select();
      case 'insert':
      case 'upsert':
        return new ChangeParser(this.queries).insert(tokens.kind);
      case 'delete':
        return new ChangeParser(this.queries).delete();
      case 'merge':
        return new ChangeParser(this.queries).merge();
      case 'update':
        return this.update();
      case '(':
        return this.bracketed();
      default:
        return this.definition();
    }
  }

  private update(): PlainStatement {
    if (this.tokens.peek(1) !== 'statistics') return new ChangeParser(this.queries).update();
    this.tokens.next();
    return new DefinitionParser(this.queries).updateStatistics();
  }

  /** A set operation whose first query is in parentheses. */
  private bracketed(): PlainStatement {
    const { tokens } = this;
    const { at } = tokens;
    const first = this.queries.expressions.parenthesized();
    const isSetOperation = tokens.kind === 'union' || tokens.kind === 'intersect' || tokens.kind === 'except';
    if (first.kind === 'subquery' && isSetOperation) return this.queries.setOperation(first.select, at);
    if (tokens.kind === 'end of input') throw sqlError(3000, 'Input was not a statement.');
    throw tokens.unexpected('UNION, INTERSECT or EXCEPT');
  }

  private definition(): PlainStatement {
    const { tokens } = this;
    const definitions = new DefinitionParser(this.queries);
    switch (tokens.kind) {
      case 'create':
        return definitions.create();
      case 'drop':
        return definitions.drop();
      case 'alter':
        return definitions.alter();
      case 'build':
        return definitions.build();
      case 'flush':
      case 'truncate':
        return definitions.flush();
      case 'grant':
      case 'revoke':
        return definitions.grant(tokens.kind);
      case 'infer':
        return definitions.infer();
      case 'analyze':
        return definitions.analyze();
      case 'execute':
        tokens.next();
        return definitions.executeFunction();
      default:
        return this.transaction();
    }
  }

  private transaction(): PlainStatement {
    const { tokens } = this;
    switch (tokens.kind) {
      case 'start':
      case 'begin':
        return this.begin();
      case 'commit':
        tokens.next();
        this.work();
        return { kind: 'commit transaction' };
      case 'rollback':
        return this.rollback();
      case 'savepoint':
        tokens.next();
        return { kind: 'savepoint', name: tokens.name('the name of a savepoint') };
      case 'set':
        tokens.next();
        tokens.expect('transaction');
        this.isolation();
        return { kind: 'set transaction isolation' };
      default:
        throw this.noStatement();
    }
  }

  private begin(): BeginTransaction {
    this.tokens.next();
    if (!this.work()) throw this.tokens.unexpected('WORK, TRAN or TRANSACTION');
    if (this.tokens.kind === 'isolation') this.isolation();
    return { kind: 'begin transaction' };
  }

  private work(): boolean {
    return this.tokens.take('work') || this.tokens.take('tran') || this.tokens.take('transaction');
  }

  private rollback(): RollbackTransaction {
    const { tokens } = this;
    tokens.next();
    this.work();
    if (!tokens.take('to')) return { kind: 'rollback transaction', savepoint: undefined };
    tokens.expect('savepoint');
    return { kind: 'rollback transaction', savepoint: tokens.name('the name of a savepoint') };
  }

  private isolation(): void {
    for (const word of ['isolation', 'level', 'read', 'committed'] as const) this.tokens.expect(word);
  }

  /** Refuses text that is not a statement at the first unexpected word: an expression alone is not a statement. */
  private noStatement(): Error {
    const { tokens } = this;
    const { at } = tokens;
    const unknown = tokens.unexpected('a statement');
    if (tokens.kind === 'end of input') return unknown;
    try {
      this.queries.expressions.expression();
    } catch (error) {
      // A word that begins no expression either, such as SHOW.
      if (tokens.at === at) return unknown;
      throw error;
    }
    if (tokens.is('end of input')) return sqlError(3000, 'Input was not a statement.');
    return tokens.unexpected('a statement');
  }
}
