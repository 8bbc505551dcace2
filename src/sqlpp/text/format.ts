// Formats trees of expressions and queries as canonical text, which parses to the same tree. Index keys are stored and compared in it:
// lower-case words, names in backticks, all operators in parentheses.
import type {
  Aggregate,
  Binding,
  Comprehension,
  Expression,
  Field,
  FrameBound,
  FromTerm,
  FunctionName,
  Group,
  JoinCondition,
  KeyspacePath,
  KeyTerm,
  Projection,
  RangeBinding,
  ResultTerm,
  Select,
  SelectBody,
  SortTerm,
  Subselect,
  Use,
  WindowFrame,
  WindowSpecification,
  With,
} from '../tree/query.ts';
import { jsonText } from '../values/json-text.ts';
import { Binary, RawJson, type Value, type ValueObject } from '../values/value.ts';
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

export function formatFromTerm(term: FromTerm): string {
  return new Formatter({ namespace: 'default' }).from(term);
}

class Formatter {
  private readonly options: FormatOptions;

  constructor(options: FormatOptions = {}) {
    this.options = options;
  }

  private readonly of = (expression: Expression): string => this.expression(expression);

  list(expressions: readonly Expression[]): string {
    return expressions.map(this.of).join(', ');
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
        return `(${this.base(expression.of)}[${this.of(expression.index)}])`;
      case 'slice':
        return `(${this.base(expression.of)}[${this.optional(expression.start)} : ${this.optional(expression.end)}])`;
      case 'array star':
        return `(${this.base(expression.of)}[*])`;
      case 'negation':
        return expression.of.kind === 'constant'
          ? `(-(${this.of(expression.of)}))`
          : `(- ${this.of(expression.of)})`;
      case 'not':
        return `(not ${this.of(expression.of)})`;
      case 'exists':
        return `(exists ${this.of(expression.of)})`;
      case 'arithmetic':
      case 'comparison':
        return `(${this.of(expression.left)} ${expression.operator} ${this.of(expression.right)})`;
      case 'concatenation':
        return `(${expression.operands.map(this.of).join(' || ')})`;
      case 'logical':
        return `(${expression.operands.map(this.of).join(` ${expression.operator} `)})`;
      default:
        return this.otherExpression(expression);
    }
  }

  private otherExpression(expression: Expression): string {
    switch (expression.kind) {
      case 'between': {
        const word = expression.isNegated ? 'not between' : 'between';
        return `(${this.of(expression.of)} ${word} ${this.of(expression.low)} and ${this.of(expression.high)})`;
      }
      case 'like': {
        const escaped = expression.escape === undefined ? '' : ` escape ${this.of(expression.escape)}`;
        const word = expression.isNegated ? 'not like' : 'like';
        return `(${this.of(expression.of)} ${word} ${this.of(expression.pattern)}${escaped})`;
      }
      case 'membership': {
        const word = expression.isNegated ? `not ${expression.operator}` : expression.operator;
        return `(${this.of(expression.of)} ${word} ${this.of(expression.list)})`;
      }
      case 'is':
        return `(${this.of(expression.of)} is ${expression.isNegated ? 'not ' : ''}${expression.test})`;
      case 'case': {
        const whens = expression.whens.map(
          ({ when, result }) => ` when ${this.of(when)} then ${this.of(result)}`,
        );
        const otherwise = expression.otherwise === undefined ? '' : ` else ${this.of(expression.otherwise)}`;
        return `case${expression.of === undefined ? '' : ` ${this.of(expression.of)}`}${whens.join('')}${otherwise} end`;
      }
      case 'object':
        return `{${expression.members.map(({ name, value }) => `${this.of(name)}: ${this.of(value)}`).join(', ')}}`;
      case 'array':
        return `[${this.list(expression.items)}]`;
      case 'quantified':
        return `${expression.quantifier} ${this.bindings(expression.bindings)} satisfies ${this.of(expression.satisfies)} end`;
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
        return `(${expression.isDistinct ? 'distinct' : 'all'} (${this.of(expression.of)}))`;
      case 'flatten keys':
        return `flatten_keys(${expression.keys.map((key) => this.key(key)).join(', ')})`;
      case 'slot':
        return this.of(expression.original);
      default:
        return this.expression(expression);
    }
  }

  /** Formats the operand of a navigation: `-1[0]` would be parsed as `-(1[0])`. */
  private base(expression: Expression): string {
    const text = this.of(expression);
    return text.startsWith('-') ? `(${text})` : text;
  }

  private optional(expression: Expression | undefined): string {
    return expression === undefined ? '' : this.of(expression);
  }

  private field({ of, name, ignoresCase }: Field): string {
    const isPlain = name.kind === 'constant' && typeof name.value === 'string';
    const text = isPlain ? quoteName(name.value as string) : `[${this.of(name)}]`;
    return `(${this.base(of)}.${text}${ignoresCase ? 'i' : ''})`;
  }

  private comprehension({ result, name, value, bindings, when }: Comprehension): string {
    const member = name === undefined ? '' : `${this.of(name)} : `;
    const condition = when === undefined ? '' : ` when ${this.of(when)}`;
    return `${result} ${member}${this.of(value)} for ${this.bindings(bindings)}${condition} end`;
  }

  bindings(bindings: readonly RangeBinding[]): string {
    return bindings
      .map(({ name, position, of, isDeep }) => {
        const first = position === undefined ? '' : `${quoteName(position)} : `;
        return `${first}${quoteName(name)} ${isDeep ? 'within' : 'in'} ${this.of(of)}`;
      })
      .join(', ');
  }

  private aggregate(aggregate: Aggregate): string {
    const list =
      aggregate.arguments.length === 0 && aggregate.name === 'count' ? '*' : this.list(aggregate.arguments);
    const filter = aggregate.filter === undefined ? '' : ` filter (where ${this.of(aggregate.filter)})`;
    const from = aggregate.isFromLast ? ' from last' : '';
    const nulls = aggregate.nulls === undefined ? '' : ` ${aggregate.nulls} nulls`;
    const over = aggregate.over === undefined ? '' : ` over ${this.window(aggregate.over)}`;
    return `${aggregate.name}(${aggregate.isDistinct ? 'distinct ' : ''}${list})${filter}${from}${nulls}${over}`;
  }

  key({ expression, isDescending, includesMissing }: KeyTerm): string {
    return `${this.of(expression)}${isDescending ? ' desc' : ''}${includesMissing ? ' include missing' : ''}`;
  }

  // ---------- windows and order

  private window({ base, isReference, partitionBy, orderBy, frame }: WindowSpecification): string {
    if (isReference && base !== undefined) return quoteName(base);
    const parts = [
      base === undefined ? '' : quoteName(base),
      partitionBy.length === 0 ? '' : `partition by ${this.list(partitionBy)}`,
      this.orderBy(orderBy),
      frame === undefined ? '' : this.frame(frame),
    ];
    return `(${parts.filter((part) => part !== '').join(' ')})`;
  }

  private frame({ unit, start, end, exclude }: WindowFrame): string {
    const extent =
      end === undefined ? this.bound(start) : `between ${this.bound(start)} and ${this.bound(end)}`;
    return `${unit} ${extent}${exclude === 'no others' ? '' : ` exclude ${exclude}`}`;
  }

  private bound(bound: FrameBound): string {
    return 'distance' in bound ? `${this.of(bound.distance)} ${bound.kind}` : bound.kind;
  }

  private orderBy(terms: readonly SortTerm[]): string {
    if (terms.length === 0) return '';
    const word = (rule: SortTerm['direction'] | SortTerm['nulls'], before: string): string =>
      rule === undefined ? '' : ` ${before}${typeof rule === 'string' ? rule : this.of(rule)}`;
    const list = terms.map(
      ({ expression, direction, nulls }) => this.of(expression) + word(direction, '') + word(nulls, 'nulls '),
    );
    return `order by ${list.join(', ')}`;
  }

  // ---------- queries

  select({ with: terms, body, orderBy, limit, offset }: Select): string {
    const parts = [
      terms === undefined ? '' : this.with(terms),
      this.body(body),
      this.orderBy(orderBy),
      limit === undefined ? '' : `limit ${this.of(limit)}`,
      offset === undefined ? '' : `offset ${this.of(offset)}`,
    ];
    return parts.filter((part) => part !== '').join(' ');
  }

  private with({ isRecursive, terms }: With): string {
    const list = terms.map(({ alias, expression }) => {
      const text = this.of(expression);
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
    const parts = [
      'select',
      hints === undefined ? '' : `/*+${hints.text}*/`,
      this.projection(projection),
      from === undefined ? '' : `from ${this.from(from)}`,
      bindings.length === 0 ? '' : `let ${this.namedBindings(bindings)}`,
      where === undefined ? '' : `where ${this.of(where)}`,
      group === undefined ? '' : this.group(group),
      windows.length === 0
        ? ''
        : `window ${windows.map(({ name, window }) => `${quoteName(name)} as ${this.window(window)}`).join(', ')}`,
    ];
    return parts.filter((part) => part !== '').join(' ');
  }

  private namedBindings(bindings: readonly Binding[]): string {
    return bindings.map(({ name, expression }) => `${quoteName(name)} = ${this.of(expression)}`).join(', ');
  }

  private group({ by, as, letting, having }: Group): string {
    const terms = by.map(({ expression, alias }) => this.of(expression) + asText(alias));
    const parts = [
      by.length === 0 ? '' : `group by ${terms.join(', ')}`,
      as === undefined ? '' : `group as ${quoteName(as)}`,
      letting.length === 0 ? '' : `letting ${this.namedBindings(letting)}`,
      having === undefined ? '' : `having ${this.of(having)}`,
    ];
    return parts.filter((part) => part !== '').join(' ');
  }

  projection({ isDistinct, isRaw, terms, exclude }: Projection): string {
    const list = terms.map((term) => this.resultTerm(term)).join(', ');
    const without = exclude.length === 0 ? '' : ` exclude ${this.list(exclude)}`;
    return `${isDistinct ? 'distinct ' : ''}${isRaw ? 'raw ' : ''}${list}${without}`;
  }

  private resultTerm(term: ResultTerm): string {
    if (term.kind === 'term') return this.of(term.expression) + asText(term.alias);
    return term.of === undefined ? '*' : `${this.of(term.of)}.*`;
  }

  // ---------- FROM

  from(term: FromTerm): string {
    switch (term.kind) {
      case 'keyspace':
        return this.path(term.path) + asText(term.alias) + this.use(term.use);
      case 'expression':
        return this.expressionTerm(term.expression) + asText(term.alias) + this.use(term.use);
      case 'subquery term':
        return `(${this.select(term.select)})${asText(term.alias)}${this.use(term.use)}`;
      case 'unnest':
        return `${this.from(term.left)} ${outer(term.join)}unnest ${this.of(term.expression)}${asText(term.alias)}`;
      case 'join':
        if (term.on.kind === 'none') {
          return `${this.from(term.left)}, ${term.isLateral ? 'lateral ' : ''}${this.from(term.right)}`;
        }
        return `${this.from(term.left)} ${outer(term.join)}join ${term.isLateral ? 'lateral ' : ''}${this.from(term.right)}${this.on(term.on)}`;
      case 'nest':
        return `${this.from(term.left)} ${outer(term.join)}nest ${this.from(term.right)}${this.on(term.on)}`;
    }
  }

  /** In parentheses if it would otherwise be parsed as a keyspace. */
  private expressionTerm(expression: Expression): string {
    const text = this.of(expression);
    return expression.kind === 'identifier' ? `(${text})` : text;
  }

  private on(condition: JoinCondition): string {
    switch (condition.kind) {
      case 'on':
        return ` on ${this.of(condition.condition)}`;
      case 'on keys':
        return ` on keys ${this.of(condition.keys)}`;
      case 'on key':
        return ` on key ${this.of(condition.key)} for ${quoteName(condition.for)}`;
      case 'none':
        return '';
    }
  }

  path({ namespace, parts }: KeyspacePath): string {
    const prefix = namespace ?? this.options.namespace;
    const names = parts.map(quoteName).join('.');
    if (prefix === undefined) return names;
    return prefix === 'system' ? `system:${names}` : `${quoteName(prefix)}:${names}`;
  }

  use({ keys, indexes, join }: Use): string {
    const hint = join === undefined ? '' : join === 'nl' ? ' nl' : ` hash (${join.slice(5)})`;
    const refs = indexes.map(({ name, using }) =>
      [name === undefined ? '' : quoteName(name), using === undefined ? '' : `using ${using}`]
        .join(' ')
        .trim(),
    );
    const access =
      keys !== undefined ? ` keys ${this.of(keys)}` : refs.length > 0 ? ` index (${refs.join(', ')})` : '';
    return hint === '' && access === '' ? '' : ` use${access}${hint}`;
  }
}

function outer(join: 'inner' | 'left' | 'right'): string {
  return join === 'inner' ? '' : `${join} outer `;
}

function asText(alias: string | undefined): string {
  return alias === undefined ? '' : ` as ${quoteName(alias)}`;
}

function functionNameText({ namespace, parts }: FunctionName): string {
  const name = parts.map(quoteName).join('.');
  return namespace === undefined ? name : `${quoteName(namespace)}:${name}`;
}

/** Arrays and objects get the same spaces as those that are written item by item; `jsonText` writes none. */
function constantText(value: Value): string {
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return `[${value.map(constantText).join(', ')}]`;
  const isPlain = value instanceof Binary || value instanceof RawJson;
  if (isPlain || typeof value !== 'object' || value === null) return jsonText(value);
  const members = Object.entries(value as ValueObject);
  return `{${members.map(([name, member]) => `${jsonText(name)}: ${constantText(member)}`).join(', ')}}`;
}
