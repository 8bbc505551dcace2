// Formats trees of expressions and queries as canonical text, which parses to the same tree. Index keys are stored and compared in it:
// lower-case words, names in backticks, all operators in parentheses.
import type {
  Aggregate,
  Comprehension,
  Expression,
  Field,
  FrameBound,
  FunctionName,
  KeyTerm,
  RangeBinding,
  SortTerm,
  WindowFrame,
  WindowSpecification,
} from '../tree/expression.ts';
import type {
  Binding,
  FromTerm,
  Group,
  Projection,
  ResultTerm,
  Select,
  SelectBody,
  Subselect,
  With,
} from '../tree/query.ts';
import { constantText } from './constant-text.ts';
import { asText, FromFormatter, spaced } from './from-format.ts';
import { quoteName } from './strings.ts';

export interface FormatOptions {
  /** Writes `correlated ` before these subqueries; only for messages, since the parser does not accept it. */
  readonly isCorrelated?: (select: Select) => boolean;
  /** The namespace for keyspaces without one. */
  readonly namespace?: string;
}

export function formatExpression(expression: Expression, options: FormatOptions = {}): string {
  return new Formatter(options).expression(expression);
}

/** Formats a term of FROM for an error message, which names each keyspace with its namespace. */
export function formatFromTerm(term: FromTerm): string {
  return new Formatter({ namespace: 'default' }).from(term);
}

/** The kinds that `Formatter.expression` formats itself; `otherExpression` formats the others. */
type ShortKind =
  | 'constant'
  | 'identifier'
  | 'self'
  | 'named parameter'
  | 'positional parameter'
  | 'field'
  | 'element'
  | 'slice'
  | 'array star'
  | 'negation'
  | 'not'
  | 'exists'
  | 'arithmetic'
  | 'comparison'
  | 'concatenation'
  | 'logical';

class Formatter {
  private readonly options: FormatOptions;

  private readonly sources: FromFormatter;

  constructor(options: FormatOptions = {}) {
    this.options = options;
    this.sources = new FromFormatter(this, options.namespace);
  }

  from(term: FromTerm): string {
    return this.sources.from(term);
  }

  /** `expression` as a function that can be passed to `map`. */
  private readonly text = (expression: Expression): string => this.expression(expression);

  list(expressions: readonly Expression[]): string {
    return expressions.map(this.text).join(', ');
  }

  expression(expression: Expression): string {
    switch (expression.kind) {
      case 'constant':
        return constantText(expression.value);
      case 'identifier':
        return quoteName(expression.name) + (expression.ignoresCase ? 'i' : '');
      case 'self':
        return 'self';
      case 'named parameter':
        return `$${expression.name}`;
      case 'positional parameter':
        return `$${expression.position}`;
      case 'field':
        return this.field(expression);
      case 'element':
        return `(${this.base(expression.of)}[${this.text(expression.index)}])`;
      case 'slice':
        return `(${this.base(expression.of)}[${this.optional(expression.start)} : ${this.optional(expression.end)}])`;
      case 'array star':
        return `(${this.base(expression.of)}[*])`;
      case 'negation':
        // A minus and a number would be parsed as one constant.
        return expression.of.kind === 'constant'
          ? `(-(${this.text(expression.of)}))`
          : `(- ${this.text(expression.of)})`;
      case 'not':
        return `(not ${this.text(expression.of)})`;
      case 'exists':
        return `(exists ${this.text(expression.of)})`;
      case 'arithmetic':
      case 'comparison':
        return `(${this.text(expression.left)} ${expression.operator} ${this.text(expression.right)})`;
      case 'concatenation':
        return `(${expression.operands.map(this.text).join(' || ')})`;
      case 'logical':
        return `(${expression.operands.map(this.text).join(` ${expression.operator} `)})`;
      default:
        return this.otherExpression(expression);
    }
  }

  private otherExpression(expression: Exclude<Expression, { kind: ShortKind }>): string {
    switch (expression.kind) {
      case 'between': {
        const word = expression.isNegated ? 'not between' : 'between';
        return `(${this.text(expression.of)} ${word} ${this.text(expression.low)} and ${this.text(expression.high)})`;
      }
      case 'like': {
        const escaped = expression.escape === undefined ? '' : ` escape ${this.text(expression.escape)}`;
        const word = expression.isNegated ? 'not like' : 'like';
        return `(${this.text(expression.of)} ${word} ${this.text(expression.pattern)}${escaped})`;
      }
      case 'membership': {
        const word = expression.isNegated ? `not ${expression.operator}` : expression.operator;
        return `(${this.text(expression.of)} ${word} ${this.text(expression.list)})`;
      }
      case 'is':
        return `(${this.text(expression.of)} is ${expression.isNegated ? 'not ' : ''}${expression.test})`;
      case 'case': {
        const whens = expression.whens.map(
          ({ when, result }) => ` when ${this.text(when)} then ${this.text(result)}`,
        );
        const otherwise =
          expression.otherwise === undefined ? '' : ` else ${this.text(expression.otherwise)}`;
        return `case${expression.of === undefined ? '' : ` ${this.text(expression.of)}`}${whens.join('')}${otherwise} end`;
      }
      case 'object':
        return `{${expression.members.map(({ name, value }) => `${this.text(name)}: ${this.text(value)}`).join(', ')}}`;
      case 'array':
        return `[${this.list(expression.items)}]`;
      case 'quantified':
        return `${expression.quantifier} ${this.bindings(expression.bindings)} satisfies ${this.text(expression.satisfies)} end`;
      case 'comprehension':
        return this.comprehension(expression);
      case 'call':
        return `${expression.name}(${this.list(expression.arguments)})`;
      case 'aggregate':
        return this.aggregate(expression);
      case 'user call':
        return `${functionNameText(expression.name)}(${this.list(expression.arguments)})`;
      case 'subquery':
        return `${this.options.isCorrelated?.(expression.select) ? 'correlated ' : ''}(${this.select(expression.select)})`;
      case 'all keys':
        return `(${expression.isDistinct ? 'distinct' : 'all'} (${this.text(expression.of)}))`;
      case 'flatten keys':
        return `flatten_keys(${expression.keys.map((key) => this.key(key)).join(', ')})`;
      case 'slot':
        return this.text(expression.original);
    }
  }

  /** Formats the operand of a navigation: `-1[0]` would be parsed as `-(1[0])`. */
  private base(expression: Expression): string {
    const text = this.text(expression);
    return text.startsWith('-') ? `(${text})` : text;
  }

  private optional(expression: Expression | undefined): string {
    return expression === undefined ? '' : this.text(expression);
  }

  private field({ of, name, ignoresCase }: Field): string {
    const isConstant = name.kind === 'constant' && typeof name.value === 'string';
    const text = isConstant ? quoteName(name.value as string) : `[${this.text(name)}]`;
    return `(${this.base(of)}.${text}${ignoresCase ? 'i' : ''})`;
  }

  private comprehension({ result, name, value, bindings, when }: Comprehension): string {
    const member = name === undefined ? '' : `${this.text(name)} : `;
    const condition = when === undefined ? '' : ` when ${this.text(when)}`;
    return `${result} ${member}${this.text(value)} for ${this.bindings(bindings)}${condition} end`;
  }

  bindings(bindings: readonly RangeBinding[]): string {
    return bindings
      .map(({ name, position, of, isDeep }) => {
        const first = position === undefined ? '' : `${quoteName(position)} : `;
        return `${first}${quoteName(name)} ${isDeep ? 'within' : 'in'} ${this.text(of)}`;
      })
      .join(', ');
  }

  private aggregate(aggregate: Aggregate): string {
    const list =
      aggregate.arguments.length === 0 && aggregate.name === 'count' ? '*' : this.list(aggregate.arguments);
    const filter = aggregate.filter === undefined ? '' : ` filter (where ${this.text(aggregate.filter)})`;
    const from = aggregate.isFromLast ? ' from last' : '';
    const nulls = aggregate.nulls === undefined ? '' : ` ${aggregate.nulls} nulls`;
    const over = aggregate.over === undefined ? '' : ` over ${this.window(aggregate.over)}`;
    return `${aggregate.name}(${aggregate.isDistinct ? 'distinct ' : ''}${list})${filter}${from}${nulls}${over}`;
  }

  key({ expression, isDescending, includesMissing }: KeyTerm): string {
    return `${this.text(expression)}${isDescending ? ' desc' : ''}${includesMissing ? ' include missing' : ''}`;
  }

  // ---------- windows and order

  private window({ base, isReference, partitionBy, orderBy, frame }: WindowSpecification): string {
    if (isReference && base !== undefined) return quoteName(base);
    const text = spaced([
      base === undefined ? '' : quoteName(base),
      partitionBy.length === 0 ? '' : `partition by ${this.list(partitionBy)}`,
      this.orderBy(orderBy),
      frame === undefined ? '' : this.frame(frame),
    ]);
    return `(${text})`;
  }

  private frame({ unit, start, end, exclude }: WindowFrame): string {
    const extent =
      end === undefined ? this.bound(start) : `between ${this.bound(start)} and ${this.bound(end)}`;
    return `${unit} ${extent}${exclude === 'no others' ? '' : ` exclude ${exclude}`}`;
  }

  private bound(bound: FrameBound): string {
    return 'distance' in bound ? `${this.text(bound.distance)} ${bound.kind}` : bound.kind;
  }

  private orderBy(terms: readonly SortTerm[]): string {
    if (terms.length === 0) return '';
    const ruleOf = (rule: SortTerm['direction'] | SortTerm['nulls'], before: string): string =>
      rule === undefined ? '' : ` ${before}${typeof rule === 'string' ? rule : this.text(rule)}`;
    const list = terms.map(
      ({ expression, direction, nulls }) =>
        this.text(expression) + ruleOf(direction, '') + ruleOf(nulls, 'nulls '),
    );
    return `order by ${list.join(', ')}`;
  }

  // ---------- queries

  select({ with: terms, body, orderBy, limit, offset }: Select): string {
    return spaced([
      terms === undefined ? '' : this.with(terms),
      this.body(body),
      this.orderBy(orderBy),
      limit === undefined ? '' : `limit ${this.text(limit)}`,
      offset === undefined ? '' : `offset ${this.text(offset)}`,
    ]);
  }

  private with({ isRecursive, terms }: With): string {
    const list = terms.map(({ alias, expression }) => {
      const text = this.text(expression);
      return `${quoteName(alias)} as ${expression.kind === 'subquery' ? text : `(${text})`}`;
    });
    return `with ${isRecursive ? 'recursive ' : ''}${list.join(', ')}`;
  }

  private body(body: SelectBody): string {
    switch (body.kind) {
      case 'nested select':
        return `(${this.select(body.select)})`;
      case 'set operation':
        return `${this.body(body.left)} ${body.operator}${body.isAll ? ' all' : ''} ${this.body(body.right)}`;
      default:
        return this.subselect(body);
    }
  }

  private subselect({ hints, projection, from, let: bindings, where, group, windows }: Subselect): string {
    return spaced([
      'select',
      hints === undefined ? '' : `/*+${hints.text}*/`,
      this.projection(projection),
      from === undefined ? '' : `from ${this.from(from)}`,
      bindings.length === 0 ? '' : `let ${this.namedBindings(bindings)}`,
      where === undefined ? '' : `where ${this.text(where)}`,
      group === undefined ? '' : this.group(group),
      windows.length === 0
        ? ''
        : `window ${windows.map(({ name, window }) => `${quoteName(name)} as ${this.window(window)}`).join(', ')}`,
    ]);
  }

  private namedBindings(bindings: readonly Binding[]): string {
    return bindings.map(({ name, expression }) => `${quoteName(name)} = ${this.text(expression)}`).join(', ');
  }

  private group({ by, as, letting, having }: Group): string {
    const terms = by.map(({ expression, alias }) => this.text(expression) + asText(alias));
    return spaced([
      by.length === 0 ? '' : `group by ${terms.join(', ')}`,
      as === undefined ? '' : `group as ${quoteName(as)}`,
      letting.length === 0 ? '' : `letting ${this.namedBindings(letting)}`,
      having === undefined ? '' : `having ${this.text(having)}`,
    ]);
  }

  projection({ isDistinct, isRaw, terms, exclude }: Projection): string {
    const list = terms.map((term) => this.resultTerm(term)).join(', ');
    const without = exclude.length === 0 ? '' : ` exclude ${this.list(exclude)}`;
    return `${isDistinct ? 'distinct ' : ''}${isRaw ? 'raw ' : ''}${list}${without}`;
  }

  private resultTerm(term: ResultTerm): string {
    if (term.kind === 'term') return this.text(term.expression) + asText(term.alias);
    return term.of === undefined ? '*' : `${this.text(term.of)}.*`;
  }
}

function functionNameText({ namespace, parts }: FunctionName): string {
  const name = parts.map(quoteName).join('.');
  return namespace === undefined ? name : `${quoteName(namespace)}:${name}`;
}
