// Compiles operators to functions that produce rows, once when the statement is prepared.
import type { Operator, QueryPlan } from '../plan/operators.ts';
import { type InlineCall, isInline, isResolved } from '../plan/resolving.ts';
import { visit } from '../plan/walk.ts';
import type { Expression } from '../tree/query.ts';
import { CodeBook } from './code.ts';
import { type InnerQuery, setOperation, subqueryScan, type WithCode, withTerms } from './combining.ts';
import { distinct, fetchDocuments, filter, letVariables, limit, offset, project, unnest } from './flow.ts';
import { compileLettingHaving, group } from './grouping.ts';
import { hashJoin } from './hash-join.ts';
import { constantJoin, keyScanOf, lookupJoin, loopJoin } from './joining.ts';
import { type FunctionProgram, functionKey, measured, type Pull, type SubqueryProgram } from './run.ts';
import {
  catalogScan,
  collectionScan,
  countScan,
  expressionScan,
  indexScan,
  keyScan,
  unionScan,
} from './scans.ts';
import { order } from './sorting.ts';
import { window } from './windowing.ts';

/** Plans a subquery of an expression when the block that contains it is compiled. */
export interface Planner {
  planOf(logical: object): QueryPlan;
}

export class Instantiation {
  /** Programs of the statement's subqueries. */
  readonly programs = new Map<object, SubqueryProgram>();
  /** User-defined SQL++ functions by name. */
  readonly functions = new Map<string, FunctionProgram>();
  readonly #planner: Planner;

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  query(plan: QueryPlan, isOutermost = false): SubqueryProgram {
    const book = new CodeBook(plan.block, plan.covered, isOutermost ? plan.root : undefined);
    const pull = this.#operator(book, plan.root);
    this.finish(book);
    return { block: plan.block, resultSlot: plan.resultSlot, pull };
  }

  /** Compiles the block's expressions and the subqueries in them. */
  finish(book: CodeBook): void {
    for (const expression of book.finish()) this.#subqueries(expression);
  }

  #subqueries(expression: Expression): void {
    visit(expression, (node) => {
      if (node.kind === 'user call' && isInline(node)) this.#inline(node);
      if (node.kind !== 'subquery' || !isResolved(node) || this.programs.has(node.logical)) return;
      this.programs.set(node.logical, this.query(this.#planner.planOf(node.logical)));
    });
  }

  #inline({ name, inline }: InlineCall): void {
    const key = functionKey(name);
    if (this.functions.has(key)) return;
    const book = new CodeBook(inline.block, new Map());
    const program = { inline, code: book.code(inline.body) };
    this.functions.set(key, program);
    this.finish(book);
  }

  operator(book: CodeBook, node: Operator): Pull {
    return this.#operator(book, node);
  }

  #operator(book: CodeBook, node: Operator): Pull {
    return measured(node, this.#unmeasured(book, node));
  }

  #unmeasured(book: CodeBook, node: Operator): Pull {
    switch (node.op) {
      case 'start':
        return pullStart;
      case 'nothing':
        return pullNothing;
      case 'key scan':
        return keyScan(book, node);
      case 'index scan':
        return indexScan(book, node);
      case 'union scan':
        return unionScan(book, node);
      case 'collection scan':
        return collectionScan(book, node);
      case 'catalog scan':
        return catalogScan(node);
      case 'count scan':
        return countScan(node);
      case 'expression scan':
        return expressionScan(node.source, book.code(node.expression));
      case 'subquery scan':
        return subqueryScan(this.part(book, node.plan), node.source, node.origin);
      case 'set operation':
        return setOperation(node, this.part(book, node.left), node.right && this.part(book, node.right));
      default:
        return this.#overInput(book, node);
    }
  }

  #overInput(book: CodeBook, node: Extract<Operator, { input: Operator }>): Pull {
    const input = this.#operator(book, node.input);
    switch (node.op) {
      case 'fetch':
        return fetchDocuments(book, input, node);
      case 'filter':
        return filter(book, input, node.condition);
      case 'let':
        return letVariables(book, input, node.bindings);
      case 'join': {
        const lookup = node.isLookup ? keyScanOf(node.right) : undefined;
        if (lookup) return lookupJoin(book, input, lookup, node);
        const right = this.#operator(book, node.right);
        return node.isConstant ? constantJoin(book, input, right, node) : loopJoin(book, input, right, node);
      }
      case 'hash join':
        return hashJoin(book, input, this.#operator(book, node.right), node);
      case 'unnest':
        return unnest(book, input, node);
      case 'group':
        return node.input.op === 'count scan'
          ? counted(book, input, node.group)
          : group(book, input, node.group);
      case 'window':
        return window(book, input, node.columns);
      case 'project':
        return project(book, input, node.projection);
      case 'distinct':
        return distinct(input, node.slot);
      case 'order':
        return order(book, input, node);
      case 'offset':
        return offset(book, input, node.offset);
      case 'limit':
        return limit(book, input, node.limit);
      case 'with':
        return withTerms(input, this.#withCodes(book, node.terms));
    }
  }

  #withCodes(book: CodeBook, terms: Extract<Operator, { op: 'with' }>['terms']): WithCode[] {
    return terms.map((term) => ({
      term,
      code: book.code(term.expression),
      step: term.recursive && this.part(book, term.recursive.step),
    }));
  }

  part(book: CodeBook, plan: QueryPlan): InnerQuery {
    const { block, resultSlot } = plan;
    const captures = book.codes(block.captures.map((capture) => capture.outer));
    return { captures, block, resultSlot, pull: this.query(plan).pull };
  }
}

const pullStart: Pull = async function* pullOne(_run, seed) {
  yield [seed.slice()];
};

const pullNothing: Pull = async function* pullNone() {};

/** The scan has counted: only LETTING and HAVING remain. */
function counted(book: CodeBook, input: Pull, node: Extract<Operator, { op: 'group' }>['group']): Pull {
  const lettingHaving = compileLettingHaving(book, node);
  return async function* pullCounted(run, seed) {
    for await (const rows of input(run, seed)) yield await lettingHaving(run, rows);
  };
}
