// Parses filter expressions by recursive descent: one method for each level of precedence, the lowest first (OR, AND, NOT,
// comparisons, + and -, * / %, the sign of a number). Every part has a limit, because an expression is evaluated for every change.
import { FilterError } from './filter-error.ts';
import { FilterTokens } from './filter-tokens.ts';
import { LargeInteger } from './large-integer.ts';
import { literal, readOperand, readPath, refuseLowerCase } from './operands.ts';
import { shownToken } from './scanner.ts';
import { TextPattern } from './text-pattern.ts';
import type { ArithmeticSign, ComparisonSign, Condition, FilterNode, Operand, Path } from './tree.ts';

/** The limits of one expression. `patterns`: its regular expressions. */
export const filterLimits = {
  characters: 8_192,
  depth: 64,
  patterns: 20,
} as const;

const comparisons: Readonly<Record<string, ComparisonSign>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};
const operandKinds = new Set(['path', 'literal', 'arithmetic', 'call']);
const keywords = new Set(['AND', 'OR', 'NOT', 'IS', 'NULL', 'MISSING']);

/** @throws FilterError */
export function parseFilter(text: string): Condition {
  if (text.length > filterLimits.characters)
    throw new FilterError(
      filterLimits.characters,
      `an expression has at most ${filterLimits.characters} characters`,
    );
  return new Parser(new FilterTokens(text)).parse();
}

class Parser {
  private readonly tokens: FilterTokens;
  private depth = 0;
  private patterns = 0;

  constructor(tokens: FilterTokens) {
    this.tokens = tokens;
  }

  parse(): Condition {
    const { at } = this.tokens.current;
    const node = this.disjunction();
    const rest = this.tokens.current;
    refuseLowerCase(rest, keywords);
    if (rest.kind !== 'end')
      throw new FilterError(rest.at, `${shownToken(rest)}; expected AND, OR or the end`);
    if (node.kind === 'path')
      throw new FilterError(
        at,
        'a field alone is no condition; to select keys write REGEXP_CONTAINS(META().id, "pattern")',
      );
    return conditionOf(node, at);
  }

  private disjunction(): FilterNode {
    return this.joined('any', ['OR', '||'], () => this.conjunction());
  }

  private conjunction(): FilterNode {
    return this.joined('all', ['AND', '&&'], () => this.negation());
  }

  private joined(kind: 'any' | 'all', signs: readonly string[], part: () => FilterNode): FilterNode {
    const { at } = this.tokens.current;
    const first = part();
    if (!this.tokens.is(...signs)) return first;
    const parts = [conditionOf(first, at)];
    while (this.tokens.accept(...signs)) parts.push(this.conditionIn(part));
    return { kind, parts };
  }

  private negation(): FilterNode {
    refuseNot(this.tokens);
    if (!this.tokens.accept('NOT', '!')) return this.comparison();
    return this.nested(() => ({ kind: 'not', part: this.conditionIn(() => this.negation()) }));
  }

  private comparison(): FilterNode {
    const { at } = this.tokens.current;
    const left = this.sum();
    if (this.tokens.accept('IS')) return this.presenceTest(pathOf(left, at));
    const token = this.tokens.current;
    const sign = token.kind === 'sign' ? comparisons[token.text] : undefined;
    if (sign === undefined) return left;
    this.tokens.next();
    const from = this.tokens.current;
    if (from.text === 'NULL' && from.kind === 'word')
      throw new FilterError(from.at, 'nothing compares with NULL; write IS NULL or IS NOT NULL');
    const right = operandOf(this.sum(), from.at);
    return { kind: 'compare', sign, left: operandOf(left, at), right };
  }

  private presenceTest(path: Path): Condition {
    const isNot = this.tokens.accept('NOT');
    const token = this.tokens.next();
    if (token.kind !== 'word' || !['NULL', 'MISSING'].includes(token.text))
      throw new FilterError(
        token.at,
        `${shownToken(token)}; expected NULL, MISSING, NOT NULL or NOT MISSING`,
      );
    const exists: Condition = { kind: 'exists', path };
    if (token.text === 'MISSING') return isNot ? exists : { kind: 'not', part: exists };
    return isNot ? { kind: 'not', part: { kind: 'isNull', path } } : { kind: 'isNull', path };
  }

  private sum(): FilterNode {
    return this.operatorChain(['+', '-'], () => this.product());
  }

  private product(): FilterNode {
    return this.operatorChain(['*', '/', '%'], () => this.negativeOrPrimary());
  }

  private operatorChain(signs: readonly string[], part: () => FilterNode): FilterNode {
    const { at } = this.tokens.current;
    let left = part();
    for (let count = 0; this.tokens.is(...signs); count++) {
      const { text, at: signAt } = this.tokens.next();
      if (count === filterLimits.depth)
        throw new FilterError(signAt, `a calculation has at most ${filterLimits.depth} operators in a row`);
      const from = this.tokens.current.at;
      const right = operandOf(part(), from);
      left = { kind: 'arithmetic', sign: text as ArithmeticSign, left: operandOf(left, at), right };
    }
    return left;
  }

  private negativeOrPrimary(): FilterNode {
    if (!this.tokens.accept('-')) return this.primary();
    return this.nested(() => {
      const { at } = this.tokens.current;
      const operand = operandOf(this.negativeOrPrimary(), at);
      if (operand.kind === 'literal' && typeof operand.value === 'number')
        return literal(0 - operand.value, operand.isFloat);
      if (operand.kind === 'literal' && operand.value instanceof LargeInteger)
        return literal(new LargeInteger(-operand.value.value));
      return { kind: 'arithmetic', sign: '-', left: literal(0), right: operand };
    });
  }

  private primary(): FilterNode {
    const { tokens } = this;
    if (tokens.is('(')) return this.nested(() => this.inParentheses(() => this.disjunction()));
    const isCall = tokens.following.kind === 'sign' && tokens.following.text === '(';
    if (isCall && tokens.accept('EXISTS'))
      return this.inParentheses(() => ({ kind: 'exists', path: readPath(tokens) }));
    if (isCall && tokens.accept('REGEXP_CONTAINS')) return this.inParentheses(() => this.regexp());
    return readOperand(tokens, () =>
      this.nested(() => {
        const { at } = tokens.current;
        return operandOf(this.sum(), at);
      }),
    );
  }

  private inParentheses<T>(read: () => T): T {
    this.tokens.expect('(');
    const result = read();
    refuseLowerCase(this.tokens.current, keywords);
    this.tokens.expect(')');
    return result;
  }

  private regexp(): Condition {
    const { at } = this.tokens.current;
    const text = this.nested(() => operandOf(this.sum(), at));
    this.tokens.expect(',');
    const token = this.tokens.next();
    if (token.kind !== 'string')
      throw new FilterError(token.at, `${shownToken(token)}; expected a regular expression in quotes`);
    if (++this.patterns > filterLimits.patterns)
      throw new FilterError(
        token.at,
        `an expression has at most ${filterLimits.patterns} regular expressions`,
      );
    return { kind: 'regexp', text, pattern: new TextPattern(token.text, token.at) };
  }

  private conditionIn(read: () => FilterNode): Condition {
    const { at } = this.tokens.current;
    return conditionOf(read(), at);
  }

  private nested<T>(read: () => T): T {
    if (++this.depth > filterLimits.depth)
      throw new FilterError(
        this.tokens.current.at,
        `an expression is nested at most ${filterLimits.depth} deep`,
      );
    const result = read();
    this.depth--;
    return result;
  }
}

/** `not` before a field can only be meant as the keyword. */
function refuseNot({ current, following }: FilterTokens): void {
  if (current.text === 'not' && ['word', 'name'].includes(following.kind)) refuseLowerCase(current, keywords);
}

function conditionOf(node: FilterNode, at: number): Condition {
  if (!isOperand(node)) return node;
  if (node.kind === 'literal' && typeof node.value === 'boolean')
    return { kind: 'constant', value: node.value };
  throw new FilterError(at, 'a value alone is no condition; expected a comparison, such as field = "text"');
}

function operandOf(node: FilterNode, at: number): Operand {
  if (isOperand(node)) return node;
  throw new FilterError(at, 'a condition is no value; expected a field, a constant or a calculation');
}

function pathOf(node: FilterNode, at: number): Path {
  if (node.kind === 'path') return node;
  throw new FilterError(at, 'only fields can be NULL or MISSING');
}

const isOperand = (node: FilterNode): node is Operand => operandKinds.has(node.kind);
