// Compiles the expressions of one query block. They are collected first and compiled together, when it is known which fields of a document
// are read, and which expressions a covering index provides.
import { mapInSteps, type WorkSteps } from '#base/steps.ts';
import { compile, type Evaluate } from '../expressions/compile.ts';
import type { Block, Source } from '../plan/block.ts';
import { expressionKey, kindOfKey } from '../plan/expression-key.ts';
import type { LogicalProjection } from '../plan/logical.ts';
import type { Operator } from '../plan/operators.ts';
import { slotOf } from '../plan/scope.ts';
import { childrenOf, replace } from '../plan/walk.ts';
import type { Expression, Field } from '../tree/query.ts';

export class Code {
  readonly expression: Expression;
  run: Evaluate = () => {
    throw new Error('an expression is evaluated before it is compiled');
  };

  constructor(expression: Expression) {
    this.expression = expression;
  }
}

/** A field of a document that has its own slot. */
export interface FieldPath {
  readonly names: readonly string[];
  readonly slot: number;
}

export class BlockCompiler {
  readonly block: Block;
  /** Results are only sent to the client, so that they may remain unparsed. */
  readonly isOutermost: boolean;
  readonly #covered: ReadonlyMap<string, number>;
  readonly #codes: Code[] = [];
  /** Sources whose documents may be read field by field, with the paths. */
  readonly #fields = new Map<number, Map<string, FieldPath>>();
  readonly #whole = new Set<number>();
  readonly #last: LogicalProjection | undefined;
  readonly #coveredKinds: ReadonlySet<string>;
  #isFinished = false;

  constructor(block: Block, covered: ReadonlyMap<string, number>, outermost?: Operator) {
    this.block = block;
    this.isOutermost = outermost !== undefined;
    this.#last = outermost && lastProjection(outermost);
    this.#covered = covered;
    this.#coveredKinds = new Set([...covered.keys()].map(kindOfKey));
  }

  /** The rows of this projection are the answer: no operator after it reads them. */
  isAnswer(projection: LogicalProjection): boolean {
    return this.isOutermost && this.#last === projection;
  }

  code(expression: Expression): Code {
    if (this.#isFinished) throw new Error('the block is compiled already');
    const code = new Code(this.#withCovers(expression));
    this.#codes.push(code);
    return code;
  }

  codes(expressions: readonly Expression[]): Code[] {
    return expressions.map((expression) => this.code(expression));
  }

  /** The scan of this source extracts only the used fields of documents. */
  extractFields(source: Source): void {
    if (!this.#fields.has(source.slot)) this.#fields.set(source.slot, new Map());
  }

  needWholeDocument(slot: number): void {
    this.#whole.add(slot);
  }

  /** The fields to extract; undefined if the whole document is needed. */
  fieldsOf(source: Source): readonly FieldPath[] | undefined {
    if (this.#whole.has(source.slot)) return undefined;
    const fields = this.#fields.get(source.slot);
    return fields && [...fields.values()];
  }

  /** Compiles all expressions and returns them; their subqueries are compiled next. */
  *finish(): WorkSteps<Expression[]> {
    this.#isFinished = true;
    for (const code of this.#codes) this.#recordFields(code.expression);
    return yield* mapInSteps(this.#codes, (code) => {
      code.run = compile(this.#withFields(code.expression));
      return code.expression;
    });
  }

  #withCovers(expression: Expression): Expression {
    if (this.#covered.size === 0) return expression;
    return replace(expression, (node) => {
      // The key of an expression has the text of all below it.
      if (!this.#coveredKinds.has(node.kind)) return undefined;
      const slot = this.#covered.get(expressionKey(node));
      return slot === undefined ? undefined : slotOf(slot, node);
    });
  }

  #recordFields(node: Expression): void {
    const path = pathOf(node);
    if (path && this.#fields.has(path.slot)) {
      const fields = this.#fields.get(path.slot) as Map<string, FieldPath>;
      const key = JSON.stringify(path.names);
      if (!fields.has(key)) fields.set(key, { names: path.names, slot: this.block.allocate() });
      return;
    }
    if (node.kind === 'slot') this.#whole.add(node.slot);
    for (const child of childrenOf(node)) this.#recordFields(child);
  }

  #withFields(expression: Expression): Expression {
    return replace(expression, (node) => {
      const path = pathOf(node);
      if (!path || this.#whole.has(path.slot)) return undefined;
      const field = this.#fields.get(path.slot)?.get(JSON.stringify(path.names));
      return field && slotOf(field.slot, node);
    });
  }
}

/** OFFSET and LIMIT pass rows on unchanged. */
function lastProjection(node: Operator): LogicalProjection | undefined {
  if (node.op === 'offset' || node.op === 'limit') return lastProjection(node.input);
  return node.op === 'project' ? node.projection : undefined;
}

/** `a.b.c` of a slot, with plain names. */
function pathOf(node: Expression): { slot: number; names: string[] } | undefined {
  const names: string[] = [];
  let at: Expression = node;
  while (at.kind === 'field') {
    const name = nameOf(at);
    if (name === undefined) return undefined;
    names.unshift(name);
    at = at.of;
  }
  return at.kind === 'slot' && names.length > 0 ? { slot: at.slot, names } : undefined;
}

function nameOf({ name, ignoresCase }: Field): string | undefined {
  return !ignoresCase && name.kind === 'constant' && typeof name.value === 'string' ? name.value : undefined;
}
