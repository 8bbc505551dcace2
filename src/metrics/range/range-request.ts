// Parses a range request from a path with query parameters, or from one object of a POST list. Reports all problems at once.
import { integerOf } from '#base/decimal.ts';
import { fieldText } from '#contract/field-text.ts';
import { derivedQuery } from '../query/derived.ts';
import { patternProblem } from '../query/match.ts';
import { aggregationOf } from '../query/plan.ts';
import type { Matcher, MatchOperator } from '../sample.ts';

export interface RangeRequest {
  readonly matchers: readonly Matcher[];
  readonly functions: readonly string[];
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
  readonly windowMs: number;
  readonly timeoutMs: number;
  /** How to combine the results of nodes; null: one result per node. */
  readonly aggregation: string | null;
  /** Null: all nodes. */
  readonly nodes: readonly string[] | null;
}

export type Problems = Record<string, string>;
export type ParseResult<T> = { readonly value: T } | { readonly problems: Problems };

const defaults = { startSeconds: -60, step: '10', timeWindow: '60', timeoutMs: 300_000 };
/** The last second of the year 9999. */
const latestSecond = 253_402_300_799;
/** The most labels of a request, those of them with patterns, and the strings of one list: each label is compared with each series. */
const matchersMax = 50;
const patternsMax = 8;
const listedMax = 1_000;
const tooManyLabels = `must have at most ${matchersMax} labels`;
/** Times of `alignTimestamps` are multiples of this. */
const alignmentMs = 10_000;

const options = [
  'start',
  'end',
  'step',
  'timeWindow',
  'timeout',
  'alignTimestamps',
  'nodes',
  'nodesAggregation',
  'aggregationFunction',
] as const;
const optionNames: ReadonlySet<string> = new Set(options);
/** Query parameters that the HTTP pipeline uses itself. */
const pipelineNames: ReadonlySet<string> = new Set(['uuid', 'bucket_uuid']);

type Texts = Readonly<Partial<Record<string, string>>>;

/** Parses the path and query parameters of a GET. */
export function readPathRequest(
  metric: string,
  functions: readonly string[],
  query: Texts,
  nowMs: number,
): ParseResult<RangeRequest> {
  const labels = Object.entries(query).filter(([name]) => !optionNames.has(name) && !pipelineNames.has(name));
  const matchers: Matcher[] = [
    { label: '__name__', operator: '=', value: metric },
    ...labels.map(([label, value]) => ({ label, operator: '=' as const, value: value ?? '' })),
  ];
  const problems: Problems = matchers.length > matchersMax ? { _: tooManyLabels } : {};
  return readOptions({ matchers, functions }, query, nowMs, problems);
}

function readOptions(
  selection: Pick<RangeRequest, 'matchers' | 'functions'>,
  sent: Texts,
  nowMs: number,
  problems: Problems = {},
): ParseResult<RangeRequest> {
  const integer = (name: string, fallback: number, min: number, max: number): number => {
    const text = sent[name];
    if (text === undefined) return fallback;
    const value = integerOf(text);
    if (value === null) problems[name] = fieldText.integer;
    else if (value < min || value > max) problems[name] = fieldText.range(min, max);
    return value ?? fallback;
  };
  const duration = (name: 'step' | 'timeWindow'): number => {
    const read = readDuration(sent[name] ?? defaults[name]);
    if ('ms' in read) return read.ms;
    problems[name] = read.problem;
    return 1;
  };
  const nowSeconds = Math.floor(nowMs / 1000);
  const endSeconds = integer('end', nowSeconds, -latestSecond, latestSecond);
  const endMs = (endSeconds < 0 ? nowSeconds + endSeconds : endSeconds) * 1000;
  const startSeconds = integer('start', defaults.startSeconds, -latestSecond, latestSecond);
  const unalignedMs = startSeconds < 0 ? endMs + startSeconds * 1000 : startSeconds * 1000;
  const startMs = isAligned(sent, problems)
    ? Math.ceil(unalignedMs / alignmentMs) * alignmentMs
    : unalignedMs;
  if (unalignedMs > endMs) problems['end'] ??= 'should be greater or equal than start';
  else if (startMs > endMs)
    problems['start'] ??= `[start, end] interval doesn't contain any aligned datapoints`;
  const value: RangeRequest = {
    ...selection,
    startMs,
    endMs,
    stepMs: duration('step'),
    windowMs: duration('timeWindow'),
    timeoutMs: integer('timeout', defaults.timeoutMs, 1, defaults.timeoutMs),
    aggregation: readAggregation(sent, selection.matchers, problems),
    nodes: sent['nodes'] === undefined ? null : sent['nodes'].split(/[,\s]+/).filter((part) => part !== ''),
  };
  return Object.keys(problems).length > 0 ? { problems } : { value };
}

function isAligned({ alignTimestamps: sent }: Texts, problems: Problems): boolean {
  if (sent !== undefined && sent !== 'true' && sent !== 'false')
    problems['alignTimestamps'] = fieldText.oneOf(['true', 'false']);
  return sent === 'true';
}

/** The parameter has two names: `aggregationFunction` in the specification, `nodesAggregation` in 7.x clients. */
function readAggregation(sent: Texts, matchers: readonly Matcher[], problems: Problems): string | null {
  const name = sent['aggregationFunction'] === undefined ? 'nodesAggregation' : 'aggregationFunction';
  const wanted = sent[name] ?? 'none';
  if (wanted === 'none') return null;
  if (wanted === 'special') {
    if (!derivedQuery(matchers))
      problems[name] = "'special' aggregation is not available for non-derived metric";
  } else if (wanted === 'count' || aggregationOf(wanted) === null)
    problems[name] = 'invalid aggregation function';
  return wanted;
}

const itemKeys = new Set<string>([...options, 'metric', 'applyFunctions']);

/** Parses one object of a POST list. */
export function readItem(item: unknown, nowMs: number): ParseResult<RangeRequest> {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    return { problems: { _: fieldText.unexpectedJson } };
  const sent = item as Record<string, unknown>;
  const problems: Problems = {};
  for (const key of Object.keys(sent)) if (!itemKeys.has(key)) problems[key] = fieldText.unsupported;
  const matchers = readMetric(sent['metric'], problems);
  const functions = sent['applyFunctions'] ?? [];
  if (!isTexts(functions)) problems['applyFunctions'] = 'invalid list of functions';
  const texts: Record<string, string> = {};
  for (const name of options) {
    const text = optionText(name, sent[name], problems);
    if (text !== undefined) texts[name] = text;
  }
  return readOptions({ matchers, functions: isTexts(functions) ? functions : [] }, texts, nowMs, problems);
}

function optionText(name: string, value: unknown, problems: Problems): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  if (name === 'nodes') {
    if (isTexts(value)) return value.join(',');
    problems[name] = fieldText.strings;
    return undefined;
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  problems[name] = fieldText.string;
  return undefined;
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

function readMetric(metric: unknown, problems: Problems): Matcher[] {
  if (metric === undefined) problems['metric'] = fieldText.required;
  else if (!Array.isArray(metric) || metric.some((label) => typeof label !== 'object' || label === null))
    problems['metric'] = 'must be a list of JSON objects';
  else if (metric.length === 0) problems['metric'] = 'must not be empty';
  else if (metric.length > matchersMax) problems['metric'] = tooManyLabels;
  else return readLabels(metric as Record<string, unknown>[], problems);
  return [];
}

function readLabels(sent: readonly Record<string, unknown>[], problems: Problems): Matcher[] {
  const matchers = sent.flatMap((label) => readLabel(label, problems));
  if (matchers.filter(({ operator }) => operator.endsWith('~')).length > patternsMax)
    problems['metric'] ??= `must have at most ${patternsMax} labels with patterns or lists`;
  return matchers;
}

const labelKeys = ['label', 'value', 'operator'];
const operators: readonly string[] = ['=', '!=', '=~', '!~', 'any', 'not_any'];

function readLabel(sent: Record<string, unknown>, problems: Problems): Matcher[] {
  const refused = (text: string): [] => {
    problems['metric'] ??= text;
    return [];
  };
  const unknown = Object.keys(sent).find((key) => !labelKeys.includes(key));
  if (unknown !== undefined) return refused(`unknown label prop: ${unknown}`);
  const { label, value, operator = '=' } = sent;
  if (typeof label !== 'string' || value === undefined)
    return refused(`all metric labels must contain 'label' and 'value' keys`);
  if (typeof operator !== 'string' || !operators.includes(operator))
    return refused(`invalid operator: ${String(operator)}`);
  const name = label === 'name' ? '__name__' : label;
  if (operator === 'any' || operator === 'not_any') {
    if (!isTexts(value)) return refused(`label value for ${label} must be a list of strings`);
    if (value.length > listedMax)
      return refused(`label value for ${label} must have at most ${listedMax} strings`);
    return [{ label: name, operator: operator === 'any' ? '=~' : '!~', value: anyOf(value) }];
  }
  if (typeof value !== 'string') return refused(`label value for ${label} must be a string`);
  const problem = operator.endsWith('~') ? patternProblem(value) : null;
  if (problem !== null) return refused(`label value for ${label}: ${problem}`);
  return [{ label: name, operator: operator as MatchOperator, value }];
}

const anyOf = (values: readonly string[]): string =>
  values.map((value) => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');

const durationUnitMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 7 * 86_400_000],
  ['y', 365 * 86_400_000],
]);

type ParsedDuration = { readonly ms: number } | { readonly problem: string };

/** Parses a duration: seconds, or a number with a unit. */
function readDuration(text: string): ParsedDuration {
  const parts = /^(\d{1,12}(?:\.\d{1,9})?)([a-z]*)$/.exec(text.trim());
  if (!parts) return { problem: 'not a valid duration string' };
  const [, amount, unit] = parts as unknown as [string, string, string];
  const factor = durationUnitMs.get(unit === '' ? 's' : unit);
  if (factor === undefined) return { problem: 'not a valid duration string' };
  const ms = Math.round(Number(amount) * factor);
  return ms > 1 ? { ms } : { problem: 'must be greater than 1ms' };
}
