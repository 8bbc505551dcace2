// ADVISOR(): advice for one or several statements, as ADVISE answers for each, grouped by index.
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import type { ExecuteContext, PreparedStatement } from '#sqlpp/run/engine.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { asValue } from '../request/value-of-json.ts';
import { AdvisorSession, type CollectedStatement } from '../state/advisor-sessions.ts';
import { longLengthMin } from '../state/long-statements.ts';
import type { QueryParts } from '../state/parts.ts';
import { answerSessionCall } from './advisor-session-calls.ts';
import { LongPlanning } from './long-planning.ts';
import type { PlanChooser } from './plan-chooser.ts';

type Advised = CollectedStatement;

interface AdvisorParts {
  readonly service: QueryParts;
  readonly chooser: PlanChooser;
}

type Report = Record<
  'current_used_indexes' | 'recommended_indexes' | 'recommended_covering_indexes',
  Indexes
>;
/** The statements that an index serves, by its CREATE INDEX statement. */
type Indexes = Map<string, Advised[]>;

/** The code of the error that too many requests, or long statements, wait: the statement itself has no error. */
const tooManyRequests = 1182;

/** `given`: a statement, an array of statements and of objects with `statement` and `query_context`, or a call about a session. */
export async function adviseStatements(
  given: Value,
  parts: AdvisorParts,
  context: ExecuteContext,
): Promise<Value> {
  if (given === undefined) return undefined;
  const plain = JSON.parse(jsonText(given)) as unknown;
  if (!isObject(plain)) return asValue(await reportOn(statementsOf(plain), parts, context));
  await context.authorize([{ action: 'catalog' }]);
  const answer = answerSessionCall(parts.service, plain);
  if (!(answer instanceof AdvisorSession)) return asValue(answer);
  const report = answer.isRunning ? {} : await reportOn(answer.statements(), parts, context);
  return asValue(Object.keys(report).length === 0 ? [] : [[report]]);
}

async function reportOn(
  statements: readonly Advised[],
  parts: AdvisorParts,
  context: ExecuteContext,
): Promise<object> {
  const report: Report = {
    current_used_indexes: new Map(),
    recommended_indexes: new Map(),
    recommended_covering_indexes: new Map(),
  };
  const errors: object[] = [];
  for (const advised of statements) {
    await context.pause();
    context.signal.throwIfAborted();
    try {
      for (const row of await adviceRows(advised, parts, context)) addTo(report, row, advised);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof SqlError) || error.code === tooManyRequests) throw error;
      errors.push({ error: error.message, ...advised });
    }
  }
  return statements.length === 0 ? [] : shown(report, errors);
}

async function adviceRows(
  advised: Advised,
  parts: AdvisorParts,
  context: ExecuteContext,
): Promise<AdviceRow[]> {
  const prepared = await planOf(advised, parts, context);
  await context.authorize(prepared.privileges);
  const rows: AdviceRow[] = [];
  for await (const batch of prepared.program.run(prepared, context).rows)
    for (const row of batch) rows.push(JSON.parse(jsonText(row)) as AdviceRow);
  return rows;
}

async function planOf(
  { statement, query_context: queryContext }: Advised,
  { service, chooser }: AdvisorParts,
  context: ExecuteContext,
): Promise<PreparedStatement> {
  const text = `ADVISE ${statement}`;
  if (text.length < longLengthMin) return chooser.prepareText(text, queryContext);
  const planning = new LongPlanning(service, context.signal);
  try {
    const [user = ''] = context.users;
    const { prepared } = await planning.plan(chooser.prepareLongText(text, queryContext), user, context);
    return prepared;
  } finally {
    planning.end();
  }
}

interface AdviceRow {
  readonly advice: {
    readonly adviseinfo: {
      readonly current_indexes?: readonly IndexEntry[];
      /** A sentence where nothing is recommended. */
      readonly recommended_indexes:
        | string
        | { readonly indexes?: readonly IndexEntry[]; readonly covering_indexes?: readonly IndexEntry[] };
    };
  };
}

interface IndexEntry {
  readonly index_statement: string;
}

function addTo(report: Report, row: AdviceRow, advised: Advised): void {
  const { current_indexes: current, recommended_indexes: recommended } = row.advice.adviseinfo;
  const add = (indexes: Indexes, entries: readonly IndexEntry[] = []): void => {
    for (const { index_statement: text } of entries)
      indexes.set(text, [...(indexes.get(text) ?? []), advised]);
  };
  add(report.current_used_indexes, current);
  if (typeof recommended === 'string') return;
  add(report.recommended_indexes, recommended.indexes);
  add(report.recommended_covering_indexes, recommended.covering_indexes);
}

function shown(report: Report, errors: readonly object[]): object {
  const lists = Object.entries(report)
    .filter(([, indexes]) => indexes.size > 0)
    .map(([name, indexes]) => [name, [...indexes].map(([index, statements]) => ({ index, statements }))]);
  return { ...Object.fromEntries(lists), ...(errors.length > 0 && { errors }) };
}

/** Each different statement once, with the number of times that it is given. */
function statementsOf(given: unknown): Advised[] {
  const known = new Map<string, Advised>();
  for (const item of Array.isArray(given) ? (given as unknown[]) : [given]) {
    const named = isObject(item) ? item : { statement: item };
    const { statement } = named;
    if (typeof statement !== 'string' || !isAdvisable(statement)) continue;
    const context = named['query_context'] ?? named['queryContext'];
    const queryContext = typeof context === 'string' && context !== '' ? { query_context: context } : {};
    const key = JSON.stringify([statement, queryContext]);
    const before = known.get(key);
    if (before) before.run_count++;
    else known.set(key, { statement, run_count: 1, ...queryContext });
  }
  return [...known.values()];
}

/** Statements about statements, and those that read the catalog, have no advice. */
export const isAdvisable = (statement: string): boolean =>
  !/^\s*(advise|explain|prepare|execute)\b/i.test(statement) && !/system:/i.test(statement);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
