// Formats the terms of FROM: keyspaces, subqueries and expressions with their aliases, and joins.
import type { Expression } from '../tree/expression.ts';
import type { FromTerm, JoinCondition, KeyspacePath, Select, Use } from '../tree/query.ts';
import { quoteName } from './strings.ts';

/** What formats the expressions and queries in the terms. */
interface InnerFormatter {
  expression(expression: Expression): string;
  select(select: Select): string;
}

export class FromFormatter {
  private readonly formatter: InnerFormatter;
  /** The namespace for keyspaces without one. */
  private readonly namespace: string | undefined;

  constructor(formatter: InnerFormatter, namespace: string | undefined) {
    this.formatter = formatter;
    this.namespace = namespace;
  }

  from(term: FromTerm): string {
    switch (term.kind) {
      case 'keyspace':
        return this.path(term.path) + asText(term.alias) + this.use(term.use);
      case 'expression':
        return this.expressionTerm(term.expression) + asText(term.alias) + this.use(term.use);
      case 'subquery term':
        return `(${this.formatter.select(term.select)})${asText(term.alias)}${this.use(term.use)}`;
      case 'unnest':
        return `${this.from(term.left)} ${outer(term.join)}unnest ${this.formatter.expression(term.expression)}${asText(term.alias)}`;
      case 'join':
        // A comma.
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
    const text = this.formatter.expression(expression);
    return expression.kind === 'identifier' ? `(${text})` : text;
  }

  private on(condition: JoinCondition): string {
    switch (condition.kind) {
      case 'on':
        return ` on ${this.formatter.expression(condition.condition)}`;
      case 'on keys':
        return ` on keys ${this.formatter.expression(condition.keys)}`;
      case 'on key':
        return ` on key ${this.formatter.expression(condition.key)} for ${quoteName(condition.for)}`;
      case 'none':
        return '';
    }
  }

  private path({ namespace, parts }: KeyspacePath): string {
    const prefix = namespace ?? this.namespace;
    const names = parts.map(quoteName).join('.');
    if (prefix === undefined) return names;
    return prefix === 'system' ? `system:${names}` : `${quoteName(prefix)}:${names}`;
  }

  private use({ keys, indexes, join }: Use): string {
    const hint = join === undefined ? '' : ` ${joinHints[join]}`;
    const refs = indexes.map(({ name, using }) =>
      spaced([name === undefined ? '' : quoteName(name), using === undefined ? '' : `using ${using}`]),
    );
    const access =
      keys !== undefined
        ? ` keys ${this.formatter.expression(keys)}`
        : refs.length > 0
          ? ` index (${refs.join(', ')})`
          : '';
    return hint === '' && access === '' ? '' : ` use${access}${hint}`;
  }
}

const joinHints = { nl: 'nl', 'hash build': 'hash (build)', 'hash probe': 'hash (probe)' } as const;

function outer(join: 'inner' | 'left' | 'right'): string {
  return join === 'inner' ? '' : `${join} outer `;
}

/** The parts that are not empty, with a blank between them. */
export const spaced = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(' ');

export function asText(alias: string | undefined): string {
  return alias === undefined ? '' : ` as ${quoteName(alias)}`;
}
