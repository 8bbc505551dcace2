// The result of a row: an object of the terms, or with RAW the one term's value.
import type { LogicalProjection, ProjectionTerm } from '../plan/logical.ts';
import { compareStrings } from '../values/collation.ts';
import { jsonText, stringText } from '../values/json-text.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isLargeValue } from '../values/text-steps.ts';
import {
  AnswerPieces,
  AnswerText,
  newObject,
  RawJson,
  setMember,
  type Value,
  type ValueObject,
} from '../values/value.ts';
import type { BlockCompiler } from './code.ts';
import { compileExclusion } from './exclusion.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

type Project = (run: Run, row: Row) => Value;

type AddTerm = (run: Run, row: Row, into: Record<string, Value>) => void;

export function compileProjection(compiler: BlockCompiler, projection: LogicalProjection): Project {
  const { terms, isRaw, exclude } = projection;
  const [first] = terms;
  if (isRaw && first?.kind === 'term') {
    const code = compiler.code(first.expression);
    return (run, row) => code.run(row, run.evaluation);
  }
  const isParsed = !compiler.isOutermost || projection.isDistinct;
  const adders = terms.map((term) => compileTerm(compiler, term, isParsed));
  const evaluate: Project = (run, row) => {
    const result = newObject();
    for (const add of adders) add(run, row, result);
    return result;
  };
  if (exclude.length === 0) return evaluate;
  const without = compileExclusion(exclude);
  return (run, row) => without(run, evaluate(run, row) as ValueObject);
}

/** Formats rows as JSON text, without an object for each; for rows that no other operator reads. undefined: this projection has to make objects. */
export function compileAnswerRow(
  compiler: BlockCompiler,
  { terms, isRaw, isDistinct, exclude }: LogicalProjection,
): Project | undefined {
  if (isRaw || isDistinct || exclude.length > 0) return undefined;
  const named = terms.filter((term) => term.kind === 'term');
  const names = new Set(named.map(({ alias }) => alias));
  if (names.size < terms.length) return undefined;
  const members = named
    .toSorted((a, b) => compareStrings(a.alias, b.alias))
    .map(({ alias, expression }) => ({
      name: `${stringText(alias)}:`,
      code: compiler.answerCode(expression),
    }));
  return (run, row) => {
    let text = '';
    // Large values, each after the text before it: their text is made in parts when the answer is sent.
    let pieces: Value[] | undefined;
    for (const { name, code } of members) {
      const value = code.run(row, run.evaluation);
      if (value === undefined) continue;
      text += `${text === '' && pieces === undefined ? '{' : ','}${name}`;
      if (code.isQuoted && typeof value === 'string') text += value;
      else if (!isLargeValue(value)) text += jsonText(value);
      else {
        (pieces ??= []).push(new AnswerText(text) as unknown as Value, value);
        text = '';
      }
    }
    if (pieces !== undefined) {
      pieces.push(new AnswerText(`${text}}`) as unknown as Value);
      return new AnswerPieces(pieces) as unknown as Value;
    }
    return new AnswerText(text === '' ? '{}' : `${text}}`) as unknown as Value;
  };
}

/** Objects that the statement processes further have only parsed values; those of the answer may have text. */
function compileTerm(compiler: BlockCompiler, term: ProjectionTerm, isParsed: boolean): AddTerm {
  if (term.kind === 'all') {
    const members = term.members.map(({ name, expression }) => ({ name, code: compiler.code(expression) }));
    return (run, row, into) => {
      for (const { name, code } of members) {
        const value = code.run(row, run.evaluation);
        setMember(into, name, isParsed ? run.resolveDeep(value) : value);
      }
    };
  }
  if (term.kind === 'star') {
    const code = compiler.code(term.of);
    return (run, row, into) => spread(run.resolve(code.run(row, run.evaluation)), into);
  }
  const code = compiler.code(term.expression);
  const { alias } = term;
  return (run, row, into) => {
    const value = code.run(row, run.evaluation);
    setMember(into, alias, isParsed ? run.resolveDeep(value) : value);
  };
}

function spread(value: Value, into: Record<string, Value>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof RawJson) return;
  const members = value as ValueObject;
  const names = Object.keys(members);
  countSteps(writtenSteps * names.length);
  for (const name of names) setMember(into, name, members[name]);
}
