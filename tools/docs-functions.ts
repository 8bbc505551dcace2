// The reference page of functions: their arguments, and their results for an example, NULL, MISSING and other types.
import { SqlError } from '../src/sqlpp/errors/sql-error.ts';
import { compile } from '../src/sqlpp/expressions/compile.ts';
import { aggregateNamed, aggregateNames } from '../src/sqlpp/functions/aggregates.ts';
import { declarations } from '../src/sqlpp/functions/catalog.ts';
import type { EvaluationContext } from '../src/sqlpp/functions/context.ts';
import type { FunctionDeclaration, FunctionGroup } from '../src/sqlpp/functions/declaration.ts';
import { examples } from '../src/sqlpp/functions/examples.ts';
import { parseExpression } from '../src/sqlpp/text/parser.ts';
import type { Call, Expression } from '../src/sqlpp/tree/expression.ts';
import { jsonText } from '../src/sqlpp/values/json-text.ts';
import type { Value } from '../src/sqlpp/values/value.ts';
import { codeSpan } from './code-span.ts';

const titles: Record<FunctionGroup, string> = {
  array: 'Arrays',
  bit: 'Bits',
  comparison: 'Comparison',
  conditional: 'Choice among values',
  date: 'Dates',
  json: 'JSON, sizes and encodings',
  meta: 'Documents, the request and the service',
  number: 'Numbers',
  object: 'Objects',
  operator: 'Operators as functions',
  pattern: 'Patterns',
  string: 'Strings',
  token: 'Words',
  type: 'Types',
};

const context: EvaluationContext = {
  positional: [],
  named: new Map(),
  startedMs: 0,
  clockMs: () => 0,
  random: () => 0,
  uuid: () => '',
  timeZone: 'UTC',
  subquery: () => null,
  userCall: () => null,
  serviceCall: () => null,
};

export function functionsPage(): string {
  const groups = [...new Set(declarations.map(({ group }) => group))].sort();
  const lines = [
    '# Functions\n',
    'Names are not case-sensitive. Each row has the result of an example, and of the same call with an argument NULL,',
    'MISSING, or with another type as the first argument (a boolean, a number, a string, an array, an object; only what differs',
    'from NULL is shown). Positions and lengths of strings count bytes of UTF-8. Dates are read in the layouts of RFC 3339 and parts of it,',
    'or by a format: one that shows 2 January 2006 15:04:05, an example (`1111-11-11`), percent signs (`%Y-%m-%d`) or letters (`YYYY-MM-DD`).\n',
  ];
  for (const group of groups) {
    lines.push(
      `## ${titles[group]}\n`,
      '| function | answers | example | NULL | MISSING | other types |',
      '|---|---|---|---|---|---|',
    );
    const inGroup = declarations.filter((declaration) => declaration.group === group);
    lines.push(...inGroup.sort((a, b) => (a.name < b.name ? -1 : 1)).map(row), '');
  }
  lines.push(
    '## Aggregates and windows\n',
    'Computed over a group, or with `OVER` over a window. They skip NULL and MISSING, except `COUNT(*)`; `ARRAY_AGG` skips only MISSING.\n',
    '| function | without OVER | DISTINCT | FILTER | frame | RESPECT or IGNORE NULLS |',
    '|---|---|---|---|---|---|',
    ...[...aggregateNames()].sort().map(aggregateRow),
  );
  return `${lines.join('\n')}\n`;
}

function aggregateRow(name: string): string {
  const rules = aggregateNamed(name);
  if (rules === undefined) throw new Error(`no rules of ${name}`);
  const yes = (value: boolean): string => (value ? 'yes' : '');
  const flags = [
    rules.isPlain,
    rules.allowsDistinct,
    rules.allowsFilter,
    rules.allowsFrame,
    rules.allowsNulls,
  ];
  return `| \`${name.toUpperCase()}\` | ${flags.map(yes).join(' | ')} |`;
}

function row(declaration: FunctionDeclaration): string {
  const { name, synonyms, signature, doc, isSpecial } = declaration;
  const usage = `\`${name.toUpperCase()}(${signature.trim()})\``;
  const also =
    synonyms.length === 0
      ? ''
      : `; also ${synonyms.map((synonym) => `\`${synonym.toUpperCase()}\``).join(', ')}`;
  const cells =
    isSpecial || name === 'uuid' || /^(clock|now)_/.test(name) ? ['', '', '', ''] : cellsOf(declaration);
  return `| ${usage}${also} | ${doc} | ${cells.join(' | ')} |`;
}

function cellsOf({ name }: FunctionDeclaration): string[] {
  const example = examples[name];
  if (example === undefined) throw new Error(`src/sqlpp/functions/examples.ts has no example of ${name}`);
  const call = parseExpression(example) as Call;
  const shown = `${code(example)} → ${code(answer(call))}`;
  if (call.arguments.length === 0) return [shown, '', '', ''];
  const withValue = (value: Value): string[] =>
    call.arguments.map((_, at) => answer(replaced(call, at, value)));
  return [shown, summary(withValue(null)), summary(withValue(undefined)), otherTypes(call)];
}

/** One result, or the results by argument where they differ. */
function summary(answers: readonly string[]): string {
  const different = [...new Set(answers)];
  return different.length === 1 ? code(different[0] as string) : answers.map(code).join(', ');
}

const samples: readonly (readonly [type: string, value: Value])[] = [
  ['boolean', true],
  ['number', 5],
  ['string', 'x'],
  ['array', [5]],
  ['object', Object.assign(Object.create(null) as Record<string, Value>, { a: 5 })],
];

function otherTypes(call: Call): string {
  const answers = samples
    .map(([type, value]) => [type, answer(replaced(call, 0, value))] as const)
    .filter(([, text]) => text !== 'null');
  return answers.map(([type, text]) => `${type} ${code(text)}`).join(', ');
}

function replaced(call: Call, at: number, value: Value): Call {
  const constant: Expression = { kind: 'constant', value, at: 0 };
  return { ...call, arguments: call.arguments.with(at, constant) };
}

function answer(call: Call): string {
  try {
    const value = compile(call)([], context);
    return value === undefined ? 'missing' : jsonText(value);
  } catch (error) {
    if (error instanceof SqlError) return `error ${error.code}`;
    throw error;
  }
}

function code(text: string): string {
  const bare = text.length > 60 ? `${text.slice(0, 57)}…` : text;
  return codeSpan(bare.replaceAll('\u0000', '\\u0000'));
}
