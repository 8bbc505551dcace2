// Parses arrays, objects, CASE, ANY and EVERY, comprehensions.
import { aliasOf } from '../tree/alias.ts';
import type { Expression, RangeBinding } from '../tree/expression.ts';
import type { ExpressionGrammar } from './grammar.ts';
import { foldedItems } from './literal-lists.ts';
import type { TokenReader } from './token-reader.ts';

export class ConstructionParser {
  private readonly tokens: TokenReader;
  private readonly expressions: ExpressionGrammar;

  constructor(tokens: TokenReader, expressions: ExpressionGrammar) {
    this.tokens = tokens;
    this.expressions = expressions;
  }

  array(): Expression {
    const { tokens } = this;
    tokens.next();
    const items = tokens.kind === ']' ? [] : this.expressions.expressions();
    const { at } = tokens;
    tokens.expect(']');
    const folded = foldedItems(items);
    return folded ? { kind: 'constant', value: folded, at } : { kind: 'array', items, at };
  }

  /** A list or an object that the scanner has read. */
  literal(): Expression {
    const { tokens } = this;
    const value = tokens.literal;
    const at = tokens.end - 1;
    tokens.next();
    return { kind: 'constant', value, at };
  }

  object(): Expression {
    const { tokens } = this;
    tokens.expect('{');
    const members: { name: Expression; value: Expression }[] = [];
    if (tokens.kind !== '}') {
      do members.push(this.member());
      while (tokens.take(','));
    }
    const { at } = tokens;
    tokens.expect('}');
    return { kind: 'object', members, at };
  }

  private member(): { name: Expression; value: Expression } {
    const { tokens } = this;
    // Here `default: f(x)` is a name and its value, not a function of a namespace.
    const isName = tokens.kind === 'identifier' && tokens.peek(1) === ':';
    const first = isName ? this.identifier() : this.expressions.expression();
    if (tokens.take(':')) return { name: first, value: this.expressions.expression() };
    const named = first.kind === 'all keys' ? first.of : first;
    const alias = named.kind === 'identifier' ? named.name || undefined : aliasOf(named);
    if (alias === undefined) throw tokens.problem('Object member missing name or value');
    return { name: { kind: 'constant', value: alias, at: first.at }, value: first };
  }

  caseOf(): Expression {
    const { tokens } = this;
    const start = tokens.at;
    tokens.next();
    const operand = tokens.kind === 'when' ? undefined : this.expressions.expression();
    const whens: { when: Expression; result: Expression }[] = [];
    do {
      tokens.expect('when');
      const when = this.expressions.expression();
      tokens.expect('then');
      whens.push({ when, result: this.expressions.expression() });
    } while (tokens.kind === 'when');
    const otherwise = tokens.take('else') ? this.expressions.expression() : undefined;
    tokens.expect('end');
    return { kind: 'case', of: operand, whens, otherwise, at: operand?.at ?? whens[0]?.when.at ?? start };
  }

  quantified(): Expression {
    const { tokens } = this;
    const isEvery = tokens.kind === 'every';
    tokens.next();
    const isBoth = !isEvery && tokens.take('and');
    if (isBoth) tokens.expect('every');
    const bindings = this.rangeBindings();
    tokens.expect('satisfies');
    const satisfies = this.expressions.expression();
    tokens.expect('end');
    const quantifier = isBoth ? 'any and every' : isEvery ? 'every' : 'any';
    return { kind: 'quantified', quantifier, bindings, satisfies, at: bindings[0]?.of.at ?? 0 };
  }

  comprehension(result: 'array' | 'first' | 'object'): Expression {
    const { tokens } = this;
    tokens.next();
    let value = this.expressions.expression();
    let name: Expression | undefined;
    if (result === 'object') {
      tokens.expect(':');
      name = value;
      value = this.expressions.expression();
    }
    tokens.expect('for');
    const bindings = this.rangeBindings();
    const when = tokens.take('when') ? this.expressions.expression() : undefined;
    tokens.expect('end');
    return { kind: 'comprehension', result, name, value, bindings, when, at: value.at };
  }

  rangeBindings(): RangeBinding[] {
    const list = [this.rangeBinding()];
    while (this.tokens.take(',')) list.push(this.rangeBinding());
    return list;
  }

  private rangeBinding(): RangeBinding {
    const { tokens } = this;
    const first = tokens.name('the name of a variable');
    const second = tokens.take(':') ? tokens.name('the name of a variable') : undefined;
    const isDeep = tokens.take('within');
    if (!isDeep) tokens.expect('in');
    const array = this.expressions.expression();
    return second === undefined
      ? { name: first, position: undefined, of: array, isDeep }
      : { name: second, position: first, of: array, isDeep };
  }

  private identifier(): Expression {
    const name = this.tokens.value;
    this.tokens.next();
    return { kind: 'identifier', name, ignoresCase: false, at: this.tokens.at };
  }
}
