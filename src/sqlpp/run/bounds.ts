// Evaluates the bounds of index scans, from the row with which a scan begins: the outer row, or the left row of a join.
import type { Bound, Span } from '../datastore/indexes.ts';
import { characterBefore } from '../functions/text-search.ts';
import {
  isNested,
  type NestableBounds,
  type PlanBound,
  type PlanRange,
  type PlanSpan,
} from '../plan/spans.ts';
import { notInText } from '../tree/identifier.ts';
import type { Value } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

type Range = Span['ranges'][number];

/** The ranges of one key; empty if no value fulfils the predicate. */
type RangeCode = (run: Run, row: Row) => Range[];

export type SpansCode = (run: Run, row: Row) => Span[];

/** The most combinations of several lists. If there are more, the last keys are unbounded, and the filter after the scan applies their predicates. */
const combinationsMax = 8192;

export function compileSpans(compiler: BlockCompiler, spans: readonly PlanSpan[]): SpansCode {
  const codes = spans.map((span) => span.ranges.map((range) => compileRange(compiler, range)));
  const [only] = codes;
  if (only !== undefined && codes.length === 1) return (run, row) => spansOf(only, run, row);
  return (run, row) => codes.flatMap((ranges) => spansOf(ranges, run, row));
}

/** Whether one of the bounds is an array or an object when the scan begins. */
export function compileHasNested(
  compiler: BlockCompiler,
  { values, lists }: NestableBounds,
): (run: Run, row: Row) => boolean {
  const valueCodes = compiler.codes(values);
  const listCodes = compiler.codes(lists);
  return (run, row) => {
    const evaluated = (code: Code): Value => run.resolve(code.run(row, run.evaluation));
    if (valueCodes.some((code) => isNested(evaluated(code)))) return true;
    return listCodes.some((code) => {
      const list = evaluated(code);
      return Array.isArray(list) && (list as Value[]).some((item) => isNested(run.resolve(item)));
    });
  };
}

function spansOf(codes: readonly RangeCode[], run: Run, row: Row): Span[] {
  let spans: Range[][] = [[]];
  for (const code of codes) {
    const ranges = code(run, row);
    if (ranges.length === 1) {
      // The usual case, without new lists.
      for (const combination of spans) combination.push(ranges[0] as Range);
      continue;
    }
    const combines = spans.length > 1 && ranges.length > 1;
    if (combines && spans.length * ranges.length > combinationsMax)
      return spans.map((ranges) => ({ ranges }));
    spans = spans.flatMap((combination) => ranges.map((range) => [...combination, range]));
  }
  return spans.map((ranges) => ({ ranges }));
}

function compileRange(compiler: BlockCompiler, range: PlanRange): RangeCode {
  switch (range.kind) {
    case 'range':
      return compilePlain(compiler, range.low, range.high);
    case 'each':
      return pointsOf(compiler.code(range.list));
    case 'like':
      return prefixOf(compiler.code(range.pattern), range.escape && compiler.code(range.escape));
  }
}

function compilePlain(
  compiler: BlockCompiler,
  low: PlanBound | undefined,
  high: PlanBound | undefined,
): RangeCode {
  const lowCode = low && compileBound(compiler, low);
  const highCode = high && compileBound(compiler, high);
  return (run, row) => {
    const from = lowCode?.(run, row);
    const to = highCode?.(run, row);
    if (from === 'never' || to === 'never') return [];
    return [{ ...(from && { low: from }), ...(to && { high: to }) }];
  };
}

/** A comparison with NULL or MISSING is never true. A NULL that the planner adds is not compared: it is a bound. */
function compileBound(compiler: BlockCompiler, bound: PlanBound): (run: Run, row: Row) => Bound | 'never' {
  const { isInclusive } = bound;
  if (bound.value.kind === 'constant' && bound.value.value === null && bound.value.at === notInText) {
    return () => ({ value: null, isInclusive });
  }
  const code = compiler.code(bound.value);
  return (run, row) => {
    // An array or object of a document may be unparsed text, which cannot be a bound.
    const value = run.resolveDeep(code.run(row, run.evaluation));
    return value === null || value === undefined ? 'never' : { value, isInclusive };
  };
}

function pointsOf(list: Code): RangeCode {
  return (run, row) => {
    const items = run.resolveDeep(list.run(row, run.evaluation));
    if (!Array.isArray(items)) return [];
    const points = (items as Value[]).filter((item) => item !== null && item !== undefined);
    return points.map((value) => ({ low: { value, isInclusive: true }, high: { value, isInclusive: true } }));
  };
}

function prefixOf(pattern: Code, escapeBy: Code | undefined): RangeCode {
  return (run, row) => {
    const text = run.resolve(pattern.run(row, run.evaluation));
    const escapeText = escapeBy ? run.resolve(escapeBy.run(row, run.evaluation)) : '\\';
    if (typeof text !== 'string' || typeof escapeText !== 'string') return [];
    const prefix = literalPrefix(text, escapeText);
    if (prefix.isWhole) {
      const value = prefix.text;
      return [{ low: { value, isInclusive: true }, high: { value, isInclusive: true } }];
    }
    // Where no string follows, the high bound is the lowest array: arrays sort after all strings.
    const end = stringAfter(prefix.text);
    return [
      { low: { value: prefix.text, isInclusive: true }, high: { value: end ?? [], isInclusive: false } },
    ];
  };
}

/** The text before the first wildcard. `isWhole`: the pattern has none, so that it matches one string. */
function literalPrefix(pattern: string, escapeText: string): { text: string; isWhole: boolean } {
  let text = '';
  // By code points, as LIKE itself: the escape character may be beyond U+FFFF.
  const characters = [...pattern];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    if (character === escapeText && at + 1 < characters.length) text += characters[++at];
    else if (character === '%' || character === '_') return { text, isWhole: false };
    else text += character;
  }
  return { text, isWhole: true };
}

/** The lowest string after all strings with this prefix, or undefined. */
function stringAfter(prefix: string): string | undefined {
  for (let end = prefix.length; end > 0; ) {
    const last = characterBefore(prefix, end);
    end -= last.length;
    const code = last.codePointAt(0) as number;
    if (code >= 0x10ffff) continue;
    return prefix.slice(0, end) + String.fromCodePoint(code + 1 === 0xd800 ? 0xe000 : code + 1);
  }
  return undefined;
}
