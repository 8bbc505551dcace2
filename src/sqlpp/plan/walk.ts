// Visits and rebuilds expression trees. Of a subquery it visits only the captured outer expressions.
import type {
  Aggregate,
  Case,
  Comprehension,
  Expression,
  FrameBound,
  KeyTerm,
  Quantified,
  RangeBinding,
  SortTerm,
  WindowFrame,
  WindowSpecification,
} from '../tree/expression.ts';
import { isResolved } from './resolving.ts';

export type Mapper = (expression: Expression) => Expression;

/** Replaces the children by their images; returns the node itself if nothing changed. */
export function mapChildren(node: Expression, map: Mapper): Expression {
  switch (node.kind) {
    case 'constant':
    case 'identifier':
    case 'self':
    case 'named parameter':
    case 'positional parameter':
    case 'slot':
      return node;
    case 'subquery':
      return isResolved(node) ? rebuild(node, { correlation: mapList(node.correlation, map) }) : node;
    case 'field': {
      const [of, name] = [map(node.of), map(node.name)];
      return of === node.of && name === node.name ? node : { ...node, of, name };
    }
    case 'element':
      return rebuild(node, { of: map(node.of), index: map(node.index) });
    case 'slice':
      return rebuild(node, {
        of: map(node.of),
        start: optional(node.start, map),
        end: optional(node.end, map),
      });
    case 'array star':
    case 'negation':
    case 'not':
    case 'exists':
    case 'is':
    case 'all keys':
      return rebuild(node, { of: map(node.of) });
    case 'arithmetic':
    case 'comparison': {
      const [left, right] = [map(node.left), map(node.right)];
      return left === node.left && right === node.right ? node : { ...node, left, right };
    }
    case 'concatenation':
    case 'logical':
      return rebuild(node, { operands: mapList(node.operands, map) });
    case 'between':
      return rebuild(node, { of: map(node.of), low: map(node.low), high: map(node.high) });
    case 'like':
      return rebuild(node, {
        of: map(node.of),
        pattern: map(node.pattern),
        escape: optional(node.escape, map),
      });
    case 'membership':
      return rebuild(node, { of: map(node.of), list: map(node.list) });
    case 'case':
      return mapCase(node, map);
    case 'object':
      return rebuild(node, {
        members: mapItems(node.members, (item) =>
          rebuild(item, { name: map(item.name), value: map(item.value) }),
        ),
      });
    case 'array':
      return rebuild(node, { items: mapList(node.items, map) });
    case 'quantified':
      return rebuild(node, { bindings: mapBindings(node.bindings, map), satisfies: map(node.satisfies) });
    case 'comprehension':
      return mapComprehension(node, map);
    case 'call':
    case 'user call':
      return rebuild(node, { arguments: mapList(node.arguments, map) });
    case 'aggregate':
      return mapAggregate(node, map);
    case 'flatten keys':
      return rebuild(node, { keys: mapItems(node.keys, (key) => mapKeyTerm(key, map)) });
  }
}

function mapCase(node: Case, map: Mapper): Case {
  return rebuild(node, {
    of: optional(node.of, map),
    whens: mapItems(node.whens, (item) => rebuild(item, { when: map(item.when), result: map(item.result) })),
    otherwise: optional(node.otherwise, map),
  });
}

function mapComprehension(node: Comprehension, map: Mapper): Comprehension {
  return rebuild(node, {
    bindings: mapBindings(node.bindings, map),
    name: optional(node.name, map),
    value: map(node.value),
    when: optional(node.when, map),
  });
}

function mapAggregate(node: Aggregate, map: Mapper): Aggregate {
  return rebuild(node, {
    arguments: mapList(node.arguments, map),
    filter: optional(node.filter, map),
    over: node.over && mapWindow(node.over, map),
  });
}

function mapWindow(window: WindowSpecification, map: Mapper): WindowSpecification {
  return rebuild(window, {
    partitionBy: mapList(window.partitionBy, map),
    orderBy: mapItems(window.orderBy, (term) => mapSortTerm(term, map)),
    frame: window.frame && mapFrame(window.frame, map),
  });
}

function mapFrame(frame: WindowFrame, map: Mapper): WindowFrame {
  const bound = (value: FrameBound): FrameBound =>
    'distance' in value ? rebuild(value, { distance: map(value.distance) }) : value;
  return rebuild(frame, { start: bound(frame.start), end: frame.end && bound(frame.end) });
}

export function mapSortTerm(term: SortTerm, map: Mapper): SortTerm {
  return rebuild(term, { expression: map(term.expression) });
}

function mapKeyTerm(key: KeyTerm, map: Mapper): KeyTerm {
  return rebuild(key, { expression: map(key.expression) });
}

function mapBindings(bindings: readonly RangeBinding[], map: Mapper): readonly RangeBinding[] {
  return mapItems(bindings, (binding) => rebuild(binding, { of: map(binding.of) }));
}

/** The variables that a range binds. */
export function variablesOf({ name, position }: RangeBinding): string[] {
  return position === undefined ? [name] : [name, position];
}

/** Like `mapChildren`, with `outer` for the arrays of the ranges, which do not see the variables, and `inner` for the other children. */
export function mapRange(node: Quantified | Comprehension, outer: Mapper, inner: Mapper): Expression {
  const bindings = mapBindings(node.bindings, outer);
  const rest = mapChildren({ ...node, bindings: [] }, inner);
  return { ...rest, bindings } as Expression;
}

function optional(node: Expression | undefined, map: Mapper): Expression | undefined {
  return node && map(node);
}

function mapList(list: readonly Expression[], map: Mapper): readonly Expression[] {
  return mapItems(list, map);
}

function mapItems<T>(list: readonly T[], map: (item: T) => T): readonly T[] {
  let changed = false;
  const mapped = list.map((item) => {
    const next = map(item);
    if (next !== item) changed = true;
    return next;
  });
  return changed ? mapped : list;
}

/** The node with the changes; the node itself if it has them already. */
function rebuild<T extends object>(node: T, changes: Partial<T>): T {
  for (const name of Object.keys(changes) as (keyof T)[]) {
    if (node[name] !== changes[name]) return { ...node, ...changes };
  }
  return node;
}

const noChildren: readonly Expression[] = [];

/** What `mapChildren` maps. The most frequent kinds need no list of their own. */
export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'constant':
    case 'slot':
    case 'identifier':
      return noChildren;
    case 'comparison':
      return [node.left, node.right];
    case 'field':
      return [node.of, node.name];
    case 'logical':
      return node.operands;
    case 'array':
      return node.items;
  }
  const children: Expression[] = [];
  mapChildren(node, (child) => {
    children.push(child);
    return child;
  });
  return children;
}

/** Bottom up: children are replaced before their parent is. */
export function rewrite(node: Expression, change: Mapper): Expression {
  return change(mapChildren(node, (child) => rewrite(child, change)));
}

/** Top down: if `change` returns a node, its children are not visited. */
export function replace(node: Expression, change: (node: Expression) => Expression | undefined): Expression {
  return change(node) ?? mapChildren(node, (child) => replace(child, change));
}

/** Whether the node or one below it fulfils the condition. */
export function some(node: Expression, test: (node: Expression) => boolean): boolean {
  return test(node) || childrenOf(node).some((child) => some(child, test));
}

/** Top down: the node, then all below it. */
export function visit(node: Expression, act: (node: Expression) => void): void {
  act(node);
  for (const child of childrenOf(node)) visit(child, act);
}
