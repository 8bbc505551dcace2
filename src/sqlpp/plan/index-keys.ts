// Keys and conditions of index definitions as expressions over a source's slots.
import type { IndexDefinition, IndexKey } from '../datastore/indexes.ts';
import type { Expression, KeyTerm } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { Source } from './block.ts';
import { conjunctsOf } from './conjuncts.ts';
import type { PlanningContext } from './planning.ts';
import { slotOf, sourceSlot } from './scope.ts';
import { mapChildren, mapRange, replace, variablesOf } from './walk.ts';

export interface BoundIndex {
  readonly definition: IndexDefinition;
  readonly keys: readonly BoundKey[];
  /** The conjuncts of the condition of a partial index. */
  readonly condition: readonly Expression[];
}

export interface BoundKey {
  readonly key: IndexKey;
  /** For an array key the node `all keys`. */
  readonly expression: Expression;
  /** The position of the definition's key; FLATTEN_KEYS makes several keys of one, all of the same element. */
  readonly group: number;
}

export function boundIndex(
  planning: PlanningContext,
  definition: IndexDefinition,
  source: Source,
): BoundIndex {
  return {
    definition,
    keys: definition.keys.flatMap((key, group) =>
      expanded(key, overSource(planning.parse(key.expression), source)).map((each) => ({ ...each, group })),
    ),
    condition:
      definition.condition === undefined
        ? []
        : conjunctsOf(overSource(planning.parse(definition.condition), source)),
  };
}

/** The keys' expressions over the document, one for each `BoundIndex.keys`. */
export const unboundKeys = (planning: PlanningContext, { keys }: IndexDefinition): Expression[] =>
  keys.flatMap(({ expression }) => componentsOf(planning.parse(expression)));

/** One key, or with FLATTEN_KEYS one for each of its arguments. */
function expanded(key: IndexKey, expression: Expression): Omit<BoundKey, 'group'>[] {
  const parts = flattened(expression);
  if (!parts) return [{ key, expression }];
  return componentsOf(expression).map((component, at) => {
    const { isDescending, includesMissing } = parts[at] as KeyTerm;
    return { key: { ...key, isDescending, includesMissing }, expression: component };
  });
}

/** The expression of an index key, or with FLATTEN_KEYS one array key for each of its arguments. */
export function componentsOf(expression: Expression): Expression[] {
  const parts = flattened(expression);
  if (!parts) return [expression];
  return parts.map((part) =>
    replace(expression, (node) => (node.kind === 'flatten keys' ? part.expression : undefined)),
  );
}

/** The arguments of FLATTEN_KEYS in an array key. */
function flattened(node: Expression): readonly KeyTerm[] | undefined {
  if (node.kind === 'flatten keys') return node.keys;
  if (node.kind === 'all keys') return flattened(node.of);
  return node.kind === 'comprehension' ? flattened(node.value) : undefined;
}

/** Replaces names by fields of the document, SELF by the document, and META() by the metadata slots. */
function overSource(node: Expression, source: Source, bound: ReadonlySet<string> = new Set()): Expression {
  const document = sourceSlot(source);
  switch (node.kind) {
    case 'self':
      return document;
    case 'identifier':
      if (bound.has(node.name)) return node;
      return {
        kind: 'field',
        of: document,
        name: { kind: 'constant', value: node.name, at: node.at },
        ignoresCase: node.ignoresCase,
        at: node.at,
      };
    case 'call':
      if (node.name === 'meta' && source.metaSlot !== undefined)
        return slotOf(source.metaSlot, { ...node, arguments: [identifierOf(source.alias)] });
      return mapChildren(node, (child) => overSource(child, source, bound));
    case 'quantified':
    case 'comprehension': {
      const inner = new Set([...bound, ...node.bindings.flatMap(variablesOf)]);
      return mapRange(
        node,
        (array) => overSource(array, source, bound),
        (child) => overSource(child, source, inner),
      );
    }
    case 'field': {
      const mapped = mapChildren(node, (child) => overSource(child, source, bound));
      return isMetaId(mapped, source) ? slotOf(source.idSlot as number, mapped) : mapped;
    }
    default:
      return mapChildren(node, (child) => overSource(child, source, bound));
  }
}

function isMetaId(node: Expression, source: Source): boolean {
  return (
    node.kind === 'field' &&
    node.of.kind === 'slot' &&
    node.of.slot === source.metaSlot &&
    node.name.kind === 'constant' &&
    node.name.value === 'id'
  );
}
