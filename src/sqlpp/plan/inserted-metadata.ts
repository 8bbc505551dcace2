// META() in INSERT and UPSERT … SELECT. A row of the SELECT is a value without metadata, so the SELECT is given a further term for each
// `META(name).member` of KEY, VALUE and OPTIONS whose name is that of a result which is a whole document.
import type { Insert } from '../tree/change.ts';
import type { Call, Expression } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { Select, Subselect } from '../tree/query.ts';
import { expressionKey } from './expression-key.ts';
import { mapChildren, mapRange, some, variablesOf } from './walk.ts';

type Query = Extract<Insert['source'], { kind: 'query' }>;

/** The query with the further terms, which replace META() in KEY, VALUE and OPTIONS. */
export function withMetadata(query: Query): Query {
  const { body } = query.select;
  const parts = [query.key, query.value, query.options].filter((part) => part !== undefined);
  // A document that is a whole row would have the further terms as members, and DISTINCT would compare them.
  const isWholeRow = query.value === undefined || parts.some((part) => some(part, isSelf));
  if (
    isWholeRow ||
    body.kind !== 'subselect' ||
    body.projection.isRaw ||
    body.projection.isDistinct ||
    body.group
  )
    return query;
  const metadata = new ProjectedMetadata(documentNames(body));
  const [key, value, options] = [query.key, query.value, query.options].map(
    (part) => part && metadata.replaceIn(part),
  ) as [Expression, Expression, Expression | undefined];
  return metadata.added.length === 0
    ? query
    : { ...query, key, value, options, select: withTerms(query.select, body, metadata.added) };
}

const isSelf = ({ kind }: Expression): boolean => kind === 'self';

/** The results that are whole documents: by name, the alias in FROM. */
function documentNames({ projection }: Subselect): ReadonlyMap<string, Expression> {
  const names = new Map<string, Expression>();
  for (const term of projection.terms) {
    if (term.kind !== 'term' || term.expression.kind !== 'identifier') continue;
    names.set(term.alias ?? term.expression.name, term.expression);
  }
  return names;
}

interface AddedTerm {
  readonly alias: string;
  readonly expression: Expression;
}

/** The further terms of the SELECT. */
class ProjectedMetadata {
  readonly added: AddedTerm[] = [];
  readonly #names: ReadonlyMap<string, Expression>;
  /** Aliases of `added` by `expressionKey`. */
  readonly #aliases = new Map<string, string>();

  constructor(names: ReadonlyMap<string, Expression>) {
    this.#names = names;
  }

  /** The expression with META() of documents replaced by the names of further terms. `bound`: variables of ranges around it, which are no documents. */
  replaceIn(node: Expression, bound: ReadonlySet<string> = new Set()): Expression {
    const mapper = (names: ReadonlySet<string>) => (child: Expression) => this.replaceIn(child, names);
    if (node.kind === 'quantified' || node.kind === 'comprehension') {
      const inner = new Set([...bound, ...node.bindings.flatMap(variablesOf)]);
      return mapRange(node, mapper(bound), mapper(inner));
    }
    const call = node.kind === 'field' && node.name.kind === 'constant' ? node.of : node;
    const document = call.kind === 'call' && call.name === 'meta' ? this.#documentOf(call, bound) : undefined;
    if (!document) return mapChildren(node, mapper(bound));
    const meta: Expression = { ...(call as Call), arguments: [document] };
    const expression = node === call ? meta : ({ ...node, of: meta } as Expression);
    return identifierOf(this.#aliasOf(expression), node.at);
  }

  #documentOf({ arguments: [argument] }: Call, bound: ReadonlySet<string>): Expression | undefined {
    if (argument?.kind !== 'identifier' || bound.has(argument.name)) return undefined;
    return this.#names.get(argument.name);
  }

  #aliasOf(expression: Expression): string {
    const key = expressionKey(expression);
    const known = this.#aliases.get(key);
    if (known !== undefined) return known;
    // No result is expected to have this name, which begins with a space.
    const alias = ` meta ${this.added.length}`;
    this.#aliases.set(key, alias);
    this.added.push({ alias, expression });
    return alias;
  }
}

function withTerms(select: Select, body: Subselect, added: readonly AddedTerm[]): Select {
  const terms = [...body.projection.terms, ...added.map((term) => ({ kind: 'term', ...term }) as const)];
  return { ...select, body: { ...body, projection: { ...body.projection, terms } } };
}
