// Resolves GROUP BY, aggregates and window functions of one SELECT: after grouping a row has only keys, aggregates and LETTING
// variables; expressions are rewritten to read those.
import { mapInSteps, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { formatExpression } from '../text/format.ts';
import type { Aggregate, Expression, WindowSpecification } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { Subselect } from '../tree/query.ts';
import { expressionKey } from './expression-key.ts';
import { freeName } from './free-names.ts';
import type { LogicalGroup, OrderTerm, ProjectionTerm, SlotBinding, WindowColumn } from './logical.ts';
import { membersOf, refuseDuplicate } from './resolve-expression.ts';
import { type NameResolver, near } from './resolving.ts';
import { type Scope, slotOf } from './scope.ts';
import { mapSortTerm, replace, some } from './walk.ts';
import { checkWindow, refuseDistancesOfRows } from './window-checks.ts';

export interface RewrittenSelect {
  readonly group: LogicalGroup | undefined;
  readonly windows: readonly WindowColumn[];
  readonly terms: readonly ProjectionTerm[];
  readonly order: OrderTerm[];
}

export class GroupResolution {
  /** The scope after grouping. */
  readonly scope: Scope;
  /** The scope before grouping. */
  readonly #before: Scope;
  readonly #resolver: NameResolver;
  readonly #node: Subselect;
  readonly #keys: { expression: Expression; slot: number }[] = [];
  /** Slots of the keys by `expressionKey`. */
  readonly #keySlots = new Map<string, number>();
  /** The kinds of the expressions of the keys. */
  readonly #keyKinds = new Set<string>();
  /** Aggregates and windows by `expressionKey`: equal ones are computed once. */
  readonly #aggregates = new Map<string, { node: Aggregate; slot: number }>();
  readonly #windows = new Map<string, WindowColumn>();
  readonly #letting: SlotBinding[] = [];
  /** The slots of this SELECT that a row has after grouping. */
  readonly #slotsAfter = new Set<number>();
  readonly #namedWindows = new Map<string, WindowSpecification>();
  #having: Expression | undefined;
  /** GROUP AS. */
  #rows: LogicalGroup['rows'];

  constructor(resolver: NameResolver, node: Subselect, before: Scope) {
    this.#resolver = resolver;
    this.#node = node;
    this.#before = before;
    this.scope = before.inner();
  }

  /** Call once, before names in the result and in ORDER BY are resolved. */
  *bind(): WorkSteps<void> {
    const { group, windows } = this.#node;
    if (group) yield* this.#bindKeys(group);
    this.#having = group?.having && this.#resolver.expression(group.having, this.scope);
    for (const { name, window } of windows) this.#bindWindow(name, window);
  }

  /** Binds aliases of keys, GROUP AS and LETTING. */
  *#bindKeys(group: NonNullable<Subselect['group']>): WorkSteps<void> {
    const { block } = this.scope;
    yield* mapInSteps(group.by, ({ expression, alias }) => {
      const resolved = this.#resolver.expression(expression, this.#before);
      const slot = block.allocate();
      this.#keys.push({ expression: resolved, slot });
      const key = expressionKey(resolved);
      if (!this.#keySlots.has(key)) this.#keySlots.set(key, slot);
      this.#keyKinds.add(resolved.kind);
      if (alias === undefined) return;
      refuseDuplicate(this.#resolver.text, alias, this.scope, expression.at);
      this.scope.bindVariable(alias, resolved);
    });
    if (group.as !== undefined) {
      this.#rows = { slot: block.allocate(), members: membersOf(this.#before) };
      this.#slotsAfter.add(this.#rows.slot);
      this.scope.bindVariable(group.as, slotOf(this.#rows.slot, identifierOf(group.as)));
    }
    for (const { name, expression, at } of group.letting) {
      const resolved = this.#resolver.expression(expression, this.scope);
      refuseDuplicate(this.#resolver.text, name, this.scope, at);
      const slot = block.allocate();
      this.#letting.push({ name, slot, expression: resolved });
      this.#slotsAfter.add(slot);
      this.scope.bindVariable(name, slotOf(slot, identifierOf(name)));
    }
  }

  #bindWindow(name: string, window: WindowSpecification): void {
    if (this.#namedWindows.has(name)) throw sqlError(3220, '', name, ' is already defined.');
    this.#namedWindows.set(name, this.#merge(window));
  }

  /** Adds the clauses of the named window that this one refines. */
  #merge(window: WindowSpecification): WindowSpecification {
    if (window.base === undefined) return window;
    const base = this.#namedWindows.get(window.base);
    if (!base) throw sqlError(3100, `Window name ${window.base} not found in WINDOW clause`);
    if (window.isReference) return base;
    if (window.partitionBy.length > 0)
      throw sqlError(3100, `Window ${window.base} shall not have PARTITION BY clause`);
    if (base.orderBy.length > 0 && window.orderBy.length > 0)
      throw sqlError(3100, `Window ${window.base} shall not have ORDER BY clause`);
    if (base.frame) throw sqlError(3100, `Window ${window.base} shall not have window frame clause`);
    return {
      base: undefined,
      isReference: false,
      partitionBy: base.partitionBy,
      orderBy: window.orderBy.length > 0 ? window.orderBy : base.orderBy,
      frame: window.frame,
    };
  }

  /** Call last. Rewrites the result terms and ORDER BY to read the slots of keys, aggregates and windows. */
  *finish(terms: readonly ProjectionTerm[], order: readonly OrderTerm[]): WorkSteps<RewrittenSelect> {
    const isGrouped =
      this.#node.group !== undefined ||
      terms.some((term) => term.kind === 'term' && hasAggregate(term.expression)) ||
      order.some((term) => hasAggregate(term.expression));
    const rewrite = isGrouped
      ? (node: Expression) => this.#windowed(this.#grouped(node))
      : (node: Expression) => this.#windowed(node);
    const letting = this.#letting.map((binding) => ({ ...binding, expression: rewrite(binding.expression) }));
    const having = this.#having && rewrite(this.#having);
    if (isGrouped && terms.some((term) => term.kind === 'all')) throw sqlError(4210, 'self');
    const rewritten = {
      terms: yield* mapInSteps(terms, (term) => rewriteTerm(term, rewrite)),
      order: yield* mapInSteps(order, (term) => ({ ...term, expression: rewrite(term.expression) })),
    };
    if (!isGrouped) return { ...rewritten, group: undefined, windows: [...this.#windows.values()] };
    const group: LogicalGroup = {
      keys: this.#keys,
      aggregates: [...this.#aggregates.values()],
      letting,
      having,
      rows: this.#rows,
    };
    return { ...rewritten, group, windows: [...this.#windows.values()] };
  }

  /** The expression over the slots of keys and aggregates. @throws SqlError 4210 if it reads anything else of the rows before grouping */
  #grouped(node: Expression): Expression {
    const rewritten = replace(node, (part) => this.#keyOf(part) ?? this.#aggregateOf(part));
    if (some(rewritten, (part) => part.kind === 'slot' && !this.#existsAfterGrouping(part.slot)))
      throw sqlError(4210, formatExpression(node) + near(this.#resolver.text, node.at));
    return rewritten;
  }

  #existsAfterGrouping(slot: number): boolean {
    return this.#slotsAfter.has(slot) || this.scope.block.isCaptured(slot) || this.#isWith(slot);
  }

  /** Whether the expression is a value that the rows of the block do not share. */
  readonly #isOfRow = (part: Expression): boolean =>
    part.kind === 'slot' && !this.scope.block.isCaptured(part.slot) && !this.#isWith(part.slot);

  /** Whether the slot has the value of a WITH term of this SELECT. */
  #isWith(slot: number): boolean {
    const { block } = this.scope;
    for (let scope: Scope | undefined = this.scope; scope && scope.block === block; scope = scope.parent) {
      for (const binding of scope.names.values()) {
        if (binding.kind !== 'variable' || !binding.isWith) continue;
        if (binding.expression.kind === 'slot' && binding.expression.slot === slot) return true;
      }
    }
    return false;
  }

  #keyOf(node: Expression): Expression | undefined {
    if (node.kind === 'slot' && this.#slotsAfter.has(node.slot)) return node;
    // Only for kinds of expressions that some key has: writing the `expressionKey` of a large expression takes long.
    if (node.kind === 'constant' || !this.#keyKinds.has(node.kind)) return undefined;
    const slot = this.#keySlots.get(expressionKey(node));
    if (slot === undefined) return undefined;
    this.#slotsAfter.add(slot);
    return slotOf(slot, node);
  }

  #aggregateOf(node: Expression): Expression | undefined {
    if (node.kind !== 'aggregate' || node.over) return undefined;
    const key = expressionKey(node);
    let column = this.#aggregates.get(key);
    if (!column) {
      this.#refuseVariables(node);
      column = { node, slot: this.scope.block.allocate() };
      this.#aggregates.set(key, column);
      this.#slotsAfter.add(column.slot);
    }
    return slotOf(column.slot, node);
  }

  /** Refuses variables of a range around the aggregate: it is computed for all rows, before any range. */
  #refuseVariables(node: Aggregate): void {
    const name = freeName(node);
    if (name === undefined) return;
    const reason = `Aggregates cannot depend on \`${name}\`, a variable of ANY, EVERY, ARRAY, FIRST or OBJECT around them`;
    throw sqlError(4000, `${reason}${near(this.#resolver.text, node.at)}.`);
  }

  /** The expression over the slots of window functions. */
  #windowed(node: Expression): Expression {
    return replace(node, (part) => {
      if (part.kind !== 'aggregate' || !part.over) return undefined;
      const over = this.#merge(part.over);
      checkWindow(part, over);
      const merged = over === part.over ? part : { ...part, over: this.#resolveNamed(over) };
      refuseDistancesOfRows(part.name, merged.over?.frame, (distance) => some(distance, this.#isOfRow));
      const key = expressionKey(merged);
      let column = this.#windows.get(key);
      if (!column) {
        this.#refuseVariables(merged);
        column = { node: merged as WindowColumn['node'], slot: this.scope.block.allocate() };
        this.#windows.set(key, column);
        this.#slotsAfter.add(column.slot);
      }
      return slotOf(column.slot, part);
    });
  }

  /** Windows of the WINDOW clause are resolved where OVER uses them: after grouping. */
  #resolveNamed(window: WindowSpecification): WindowSpecification {
    const resolve = (node: Expression): Expression => {
      const resolved = this.#resolver.expression(node, this.scope);
      return this.#aggregates.size > 0 || this.#node.group ? this.#grouped(resolved) : resolved;
    };
    return {
      ...window,
      partitionBy: window.partitionBy.map(resolve),
      orderBy: window.orderBy.map((term) => mapSortTerm(term, resolve)),
    };
  }
}

function rewriteTerm(term: ProjectionTerm, rewrite: (node: Expression) => Expression): ProjectionTerm {
  if (term.kind === 'all') return term;
  if (term.kind === 'star') return { ...term, of: rewrite(term.of) };
  return { ...term, expression: rewrite(term.expression) };
}

function hasAggregate(node: Expression): boolean {
  return some(node, (part) => part.kind === 'aggregate' && !part.over);
}
