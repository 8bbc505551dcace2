// Compiles operators to functions that produce rows, once when the statement is prepared.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import type { Operator, QueryPlan } from '../plan/operators.ts';
import {
  type InlineCall,
  type InlineFunction,
  isInline,
  isResolved,
  type ResolvedSubquery,
} from '../plan/resolving.ts';
import { visit } from '../plan/walk.ts';
import type { Expression } from '../tree/expression.ts';
import { BlockCompiler, type Code } from './code.ts';
import { type InnerQuery, setOperation, subqueryScan } from './combining.ts';
import { distinct, fetchDocuments, filter, letVariables, limit, offset, project, unnest } from './flow.ts';
import { compileLettingHaving, group } from './grouping.ts';
import { hashJoin } from './hash-join.ts';
import { indexScan } from './index-scanning.ts';
import { constantJoin, keyScanOf, lookupJoin, loopJoin } from './joining.ts';
import type { Pull, SubqueryProgram } from './run.ts';
import { catalogScan, collectionScan, countScan, expressionScan, keyScan, unionScan } from './scans.ts';
import { order } from './sorting.ts';
import { measured } from './stages.ts';
import { OneBatch } from './step-iterator.ts';
import { window } from './windowing.ts';
import { type WithCode, withTerms } from './with-terms.ts';

/** Plans a subquery of an expression when the block that contains it is compiled. */
export interface Planner {
  planOf(logical: object): QueryPlan;
}

export class StatementCompiler {
  /** Programs of the statement's subqueries. */
  readonly programs = new Map<object, SubqueryProgram>();
  /** The compiled bodies of user-defined SQL++ functions. */
  readonly functions = new Map<InlineFunction, Code>();
  /** The functions that call CURL() or a function in another language. */
  readonly #callers = new Set<InlineFunction>();
  /** Whether the query or function that is compiled calls CURL() or a function in another language. */
  #callsOut = false;
  readonly #planner: Planner;

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  query(plan: QueryPlan, isOutermost = false): SubqueryProgram {
    return resultOf(this.querySteps(plan, isOutermost));
  }

  *querySteps(plan: QueryPlan, isOutermost = false): WorkSteps<SubqueryProgram> {
    const before = this.#callsOut;
    this.#callsOut = false;
    const compiler = new BlockCompiler(plan.block, plan.covered, isOutermost ? plan.root : undefined);
    const pull = this.operator(compiler, plan.root);
    yield* this.finish(compiler);
    const callsOut = this.#callsOut;
    this.#callsOut ||= before;
    return { block: plan.block, resultSlot: plan.resultSlot, pull, callsOut };
  }

  /** Compiles the block's expressions, and the subqueries and SQL++ functions in them. */
  *finish(compiler: BlockCompiler): WorkSteps<void> {
    const expressions = yield* compiler.finish();
    const inner: (InlineCall | ResolvedSubquery)[] = [];
    for (const expression of expressions) this.#findInner(expression, inner);
    for (const node of inner) {
      yield;
      if (node.kind === 'subquery') this.#subquery(node.logical);
      else this.#inline(node.inline);
    }
  }

  /** Adds the subqueries of an expression and its calls of SQL++ functions to `inner`, and notes other calls in `#callsOut`. */
  #findInner(expression: Expression, inner: (InlineCall | ResolvedSubquery)[]): void {
    visit(expression, (node) => {
      if (node.kind === 'user call' && isInline(node)) inner.push(node);
      else if (node.kind === 'user call' || (node.kind === 'call' && node.name === 'curl'))
        this.#callsOut = true;
      else if (node.kind === 'subquery' && isResolved(node)) inner.push(node);
    });
  }

  #subquery(logical: object): void {
    const known = this.programs.get(logical);
    if (known) this.#callsOut ||= known.callsOut;
    else this.programs.set(logical, this.query(this.#planner.planOf(logical)));
  }

  #inline(inline: InlineFunction): void {
    if (this.functions.has(inline)) {
      this.#callsOut ||= this.#callers.has(inline);
      return;
    }
    const before = this.#callsOut;
    this.#callsOut = false;
    const compiler = new BlockCompiler(inline.block, new Map());
    this.functions.set(inline, compiler.code(inline.body));
    resultOf(this.finish(compiler));
    if (this.#callsOut) this.#callers.add(inline);
    this.#callsOut ||= before;
  }

  operator(compiler: BlockCompiler, node: Operator): Pull {
    return measured(node, this.#unmeasured(compiler, node));
  }

  #unmeasured(compiler: BlockCompiler, node: Operator): Pull {
    switch (node.op) {
      case 'start':
        return pullStart;
      case 'key scan':
        return keyScan(compiler, node);
      case 'index scan':
        return indexScan(compiler, node);
      case 'union scan':
        return unionScan(compiler, node);
      case 'collection scan':
        return collectionScan(compiler, node);
      case 'catalog scan':
        return catalogScan(compiler, node);
      case 'count scan':
        return countScan(node);
      case 'expression scan':
        return expressionScan(node.source, compiler.code(node.expression));
      case 'subquery scan':
        return subqueryScan(this.inner(compiler, node.plan), node.source, node.origin);
      case 'set operation':
        return setOperation(
          node,
          this.inner(compiler, node.left),
          node.right && this.inner(compiler, node.right),
        );
      default:
        return this.#overInput(compiler, node);
    }
  }

  #overInput(compiler: BlockCompiler, node: Extract<Operator, { input: Operator }>): Pull {
    const input = this.operator(compiler, node.input);
    switch (node.op) {
      case 'fetch':
        return fetchDocuments(compiler, input, node);
      case 'filter':
        return filter(compiler, input, node.condition);
      case 'let':
        return letVariables(compiler, input, node.bindings);
      case 'join': {
        const lookup = node.isLookup ? keyScanOf(node.right) : undefined;
        if (lookup) return lookupJoin(compiler, input, lookup, node);
        const right = this.operator(compiler, node.right);
        return node.isConstant
          ? constantJoin(compiler, input, right, node)
          : loopJoin(compiler, input, right, node);
      }
      case 'hash join':
        return hashJoin(compiler, input, this.operator(compiler, node.right), node);
      case 'unnest':
        return unnest(compiler, input, node);
      case 'group':
        return node.input.op === 'count scan'
          ? counted(compiler, input, node.group)
          : group(compiler, input, node.group);
      case 'window':
        return window(compiler, input, node.columns);
      case 'project':
        return project(compiler, input, node.projection);
      case 'distinct':
        return distinct(input, node.slot);
      case 'order':
        return order(compiler, input, node);
      case 'offset':
        return offset(compiler, input, node);
      case 'limit':
        return limit(compiler, input, node);
      case 'with':
        return withTerms(input, this.#withCodes(compiler, node.terms));
    }
  }

  #withCodes(compiler: BlockCompiler, terms: Extract<Operator, { op: 'with' }>['terms']): WithCode[] {
    return terms.map((term) => ({
      term,
      code: compiler.code(term.expression),
      step: term.recursive && this.inner(compiler, term.recursive.step),
    }));
  }

  /** A query in its own block, and the expressions of this block that it captures. */
  inner(compiler: BlockCompiler, plan: QueryPlan): InnerQuery {
    const { block, resultSlot } = plan;
    const captures = compiler.codes(block.captures.map((capture) => capture.outer));
    return { captures, block, resultSlot, pull: this.query(plan).pull };
  }
}

const pullStart: Pull = (_run, seed) => new OneBatch([seed.slice()]);

/** GROUP BY over a count scan, whose rows have the aggregate already: evaluates LETTING and HAVING. */
function counted(
  compiler: BlockCompiler,
  input: Pull,
  node: Extract<Operator, { op: 'group' }>['group'],
): Pull {
  const lettingHaving = compileLettingHaving(compiler, node);
  return async function* pullCounted(run, seed) {
    for await (const rows of input(run, seed)) yield await lettingHaving(run, rows);
  };
}
