// Expressions of index definitions over a document: bare names are its fields, SELF is the document, META() its metadata.
import { compile } from '#sqlpp/expressions/compile.ts';
import type { EvaluationContext } from '#sqlpp/functions/context.ts';
import type { Expression, Field, RangeBinding } from '#sqlpp/tree/expression.ts';
import { integerValue } from '#sqlpp/values/arithmetic.ts';
import { resolveDeep } from '#sqlpp/values/json-parse.ts';
import { Binary, newObject, RawJson, setMember, type Value } from '#sqlpp/values/value.ts';
import type { IndexedDocument } from './compiled-definition.ts';

export type DocumentExpression = (document: IndexedDocument) => Value;

/** The slots of the row over which expressions are evaluated. */
const Slot = { document: 0, meta: 1, id: 2 } as const;

/** Never called: the planner refuses definitions whose keys depend on more than the document. */
const unreachable = (): never => {
  throw new TypeError('an index key depends on its document only');
};
const context: EvaluationContext = {
  positional: [],
  named: new Map(),
  startedMs: 0,
  timeZone: 'UTC',
  clockMs: unreachable,
  random: unreachable,
  uuid: unreachable,
  subquery: unreachable,
  userCall: unreachable,
  serviceCall: unreachable,
};

/** Compiles the expression; its results are parsed completely. */
export function documentExpression(expression: Expression): DocumentExpression {
  const binding = new DocumentBinding();
  const evaluate = compile(binding.bind(expression, new Set()) as Expression);
  const row: Value[] = [undefined, undefined, undefined];
  return (document) => {
    row[Slot.document] = bodyOf(document);
    if (binding.usesMeta) row[Slot.meta] = metaOf(document, binding.xattrs);
    if (binding.usesId) row[Slot.id] = document.id;
    return resolveDeep(evaluate(row, context));
  };
}

function bodyOf({ body, isJson }: IndexedDocument): Value {
  return isJson ? new RawJson(body, 0, body.length) : new Binary(body);
}

function metaOf(document: IndexedDocument, xattrs: ReadonlySet<string>): Value {
  const { id, cas, expiration, flags, isJson } = document;
  const meta = newObject();
  for (const [name, value] of Object.entries({ cas: integerValue(cas), expiration, flags, id }))
    setMember(meta, name, value);
  setMember(meta, 'type', isJson ? 'json' : 'base64');
  if (xattrs.size === 0) return meta;
  const attributes = newObject();
  for (const name of xattrs) {
    const text = document.xattr(name);
    if (text !== undefined) setMember(attributes, name, new RawJson(text, 0, text.length));
  }
  setMember(meta, 'xattrs', attributes);
  return meta;
}

/** Replaces names by slots of the row, and records which slots the row needs. */
class DocumentBinding {
  usesMeta = false;
  usesId = false;
  readonly xattrs = new Set<string>();

  bind(node: unknown, variables: ReadonlySet<string>): unknown {
    if (Array.isArray(node)) return node.map((item) => this.bind(item, variables));
    if (!isNode(node)) return isPlain(node) ? this.members(node, variables) : node;
    switch (node.kind) {
      case 'constant':
        return node;
      case 'self':
        return slot(Slot.document, node);
      case 'identifier':
        return variables.has(node.name) ? node : fieldOfDocument(node);
      case 'call':
        return node.name === 'meta' ? this.meta(node) : this.members(node, variables);
      case 'field':
        return this.field(node, variables);
      case 'quantified':
      case 'comprehension':
        return this.ranging(node, variables);
      default:
        return this.members(node, variables);
    }
  }

  private members(node: object, variables: ReadonlySet<string>): unknown {
    const members = Object.entries(node).map(([name, value]) => [name, this.bind(value, variables)]);
    return Object.fromEntries(members);
  }

  private meta(node: Expression): Expression {
    this.usesMeta = true;
    return slot(Slot.meta, node);
  }

  private field(node: Field, variables: ReadonlySet<string>): unknown {
    const name = node.name.kind === 'constant' ? node.name.value : undefined;
    if (isMeta(node.of) && name === 'id') {
      this.usesId = true;
      return slot(Slot.id, node);
    }
    const isOfXattrs = node.of.kind === 'field' && isMeta(node.of.of) && isNamed(node.of, 'xattrs');
    if (isOfXattrs && typeof name === 'string') this.xattrs.add(name);
    return this.members(node, variables);
  }

  /** The array that a variable ranges over cannot use that variable. */
  private ranging(
    node: Extract<Expression, { bindings: readonly RangeBinding[] }>,
    variables: ReadonlySet<string>,
  ): unknown {
    const inner = new Set(variables);
    for (const { name, position } of node.bindings) {
      inner.add(name);
      if (position !== undefined) inner.add(position);
    }
    const bindings = node.bindings.map((binding) => ({ ...binding, of: this.bind(binding.of, variables) }));
    return { ...(this.members({ ...node, bindings: [] }, inner) as object), bindings };
  }
}

const isPlain = (node: unknown): node is object =>
  typeof node === 'object' && node !== null && Object.getPrototypeOf(node) === Object.prototype;

const isNode = (node: unknown): node is Expression => isPlain(node) && 'kind' in node;

const isMeta = (node: Expression): boolean => node.kind === 'call' && node.name === 'meta';

const isNamed = ({ name }: Field, wanted: string): boolean =>
  name.kind === 'constant' && name.value === wanted;

const slot = (slotNumber: number, original: Expression): Expression => ({
  kind: 'slot',
  slot: slotNumber,
  original,
  at: original.at,
});

const fieldOfDocument = (node: Extract<Expression, { kind: 'identifier' }>): Expression => ({
  kind: 'field',
  of: slot(Slot.document, { kind: 'self', at: node.at }),
  name: { kind: 'constant', value: node.name, at: node.at },
  ignoresCase: node.ignoresCase,
  at: node.at,
});
