// Reads the values of filter expressions: fields, metadata, constants, arithmetic and functions.
import { numberFunctions } from './arithmetic.ts';
import { readTime } from './dates.ts';
import { FilterError } from './filter-error.ts';
import type { FilterTokens } from './filter-tokens.ts';
import { integerOf, type LargeInteger } from './large-integer.ts';
import { shownToken, type Token } from './scanner.ts';
import type { Operand, Path } from './tree.ts';

const reserved = new Set([
  'AND',
  'EXISTS',
  'FALSE',
  'IF',
  'IS',
  'META',
  'MISSING',
  'NOT',
  'NULL',
  'OR',
  'TRUE',
]);
const otherFunctions = ['DATE', 'EXISTS', 'REGEXP_CONTAINS'];
const functionNames = new Set([...Object.keys(numberFunctions), ...otherFunctions]);

/** A field with the name of a reserved word must be in backticks. @throws FilterError */
function refuseReserved({ text, at }: Token): void {
  if (reserved.has(text))
    throw new FilterError(at, `${text} is a reserved word; write a field of this name as \`${text}\``);
}

/** Keywords and functions are in upper case. Without this check the error about one in lower case would mislead. @throws FilterError */
export function refuseLowerCase(token: Token, names: ReadonlySet<string>): void {
  const upper = token.text.toUpperCase();
  if (token.kind === 'word' && upper !== token.text && names.has(upper))
    throw new FilterError(token.at, `${token.text} is case-sensitive here; write ${upper}`);
}

/** A field, metadata, a constant or a function; `nested` reads what is in the parentheses of a function. */
export function readOperand(tokens: FilterTokens, nested: () => Operand): Operand {
  const token = tokens.current;
  if (token.kind === 'number') return numberOf(tokens.next());
  if (token.kind === 'string') return literal(tokens.next().text);
  if (token.kind === 'name') return readPath(tokens);
  if (token.kind !== 'word')
    throw new FilterError(token.at, `${shownToken(token)}; expected a field, a constant or a function`);
  if (['TRUE', 'true', 'FALSE', 'false'].includes(token.text))
    return literal(tokens.next().text.toUpperCase() === 'TRUE');
  if (tokens.following.text === '(' && tokens.following.kind === 'sign') {
    refuseLowerCase(token, new Set([...functionNames, 'META']));
    if (token.text !== 'META') return readCall(tokens, nested);
  }
  return readPath(tokens);
}

export const literal = (
  value: string | number | boolean | bigint | LargeInteger,
  isFloat = false,
): Operand => ({
  kind: 'literal',
  value,
  isFloat,
});

function numberOf({ text, at }: Token): Operand {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new FilterError(at, 'the number is too large');
  const isFloat = /[.eE]/.test(text);
  return literal(isFloat ? value : integerOf(text), isFloat);
}

function readCall(tokens: FilterTokens, nested: () => Operand): Operand {
  const { text: name, at } = tokens.next();
  const arity = name === 'DATE' ? 1 : numberFunctions[name]?.length;
  if (!Object.hasOwn(numberFunctions, name) && name !== 'DATE')
    throw new FilterError(
      at,
      `there is no function ${name} here; the functions are ${[...functionNames].sort().join(', ')}`,
    );
  tokens.expect('(');
  const args: Operand[] = [];
  const from = tokens.current.at;
  while (args.length < (arity as number)) {
    if (args.length > 0) tokens.expect(',');
    args.push(nested());
  }
  if (tokens.current.text === ',')
    throw new FilterError(
      tokens.current.at,
      `${name} has ${arity} ${arity === 1 ? 'argument' : 'arguments'}`,
    );
  tokens.expect(')');
  return name === 'DATE' ? dateOf(args[0] as Operand, from) : { kind: 'call', name, args };
}

function dateOf(arg: Operand, at: number): Operand {
  if (arg.kind === 'path') return { kind: 'call', name: 'DATE', args: [arg] };
  const time = arg.kind === 'literal' && typeof arg.value === 'string' ? readTime(arg.value) : undefined;
  if (time === undefined)
    throw new FilterError(
      at,
      'DATE has a field or a date in quotes, such as "2019-01-25" or "2019-01-25T18:40:37Z"',
    );
  return literal(time);
}

export function readPath(tokens: FilterTokens): Path {
  const first = tokens.current;
  if (first.kind === 'word' && first.text === 'META') return readMeta(tokens);
  if (first.kind !== 'word' && first.kind !== 'name')
    throw new FilterError(first.at, `${shownToken(first)}; expected a field`);
  if (first.kind === 'word') refuseReserved(first);
  return { kind: 'path', root: 'body', steps: [tokens.next().text, ...readSteps(tokens)] };
}

function readSteps(tokens: FilterTokens): (string | number)[] {
  const steps: (string | number)[] = [];
  for (;;) {
    if (tokens.accept('.')) {
      const token = tokens.next();
      if (token.kind !== 'word' && token.kind !== 'name')
        throw new FilterError(token.at, `${shownToken(token)}; expected the name of a field`);
      if (token.kind === 'word') refuseReserved(token);
      steps.push(token.text);
    } else if (tokens.accept('[')) {
      const token = tokens.next();
      if (token.kind !== 'number' || !/^\d{1,9}$/.test(token.text))
        throw new FilterError(token.at, `${shownToken(token)}; expected the index of an element, from 0`);
      steps.push(Number(token.text));
      tokens.expect(']');
    } else return steps;
  }
}

function readMeta(tokens: FilterTokens): Path {
  const { at } = tokens.next();
  tokens.expect('(');
  tokens.expect(')');
  const [part, ...steps] = readSteps(tokens);
  if (part === 'xattrs' && typeof steps[0] === 'string') return { kind: 'path', root: 'xattrs', steps };
  if ((part === 'id' || part === 'expiration') && steps.length === 0)
    return { kind: 'path', root: part, steps };
  throw new FilterError(
    at,
    'expected META().id, META().expiration, or META().xattrs with the name of an attribute',
  );
}
