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
import type { Expression, Field } from '../tree/expression.ts';
import type { FieldPath } from '../values/field-extraction.ts';

export class Code {
  readonly expression: Expression;
  /** No operator reads the value: it goes into the answer only. */
  readonly isOnlyAnswered: boolean;
  /** `run` returns strings as their JSON text. */
  isQuoted = false;
  run: Evaluate = () => {
    throw new Error('an expression is evaluated before it is compiled');
  };

  constructor(expression: Expression, isOnlyAnswered: boolean) {
    this.expression = expression;
    this.isOnlyAnswered = isOnlyAnswered;
  }
}

/** A field of a document that has its own slot. */
interface UsedField {
  readonly names: readonly string[];
  readonly slot: number;
  /** The slot has strings as their JSON text, since only the answer reads it. */
  isQuoted: boolean;
}

export class BlockCompiler {
  readonly block: Block;
  /** Results are only sent to the client, so that they may remain unparsed. */
  readonly isOutermost: boolean;
  /** By their keys, the slots of the expressions that a covering index provides. */
  readonly #covered: ReadonlyMap<string, number>;
  readonly #codes: Code[] = [];
  /** By the slot of a source whose documents may be read field by field: the fields, by their paths as JSON text. */
  readonly #fields = new Map<number, Map<string, UsedField>>();
  /** Slots of documents that an expression reads as a whole. */
  readonly #whole = new Set<number>();
  /** The projection whose rows are the answer; undefined in inner blocks. */
  readonly #last: LogicalProjection | undefined;
  /** The kinds of the covered expressions. */
  readonly #coveredKinds: ReadonlySet<string>;
  #isFinished = false;

  constructor(block: Block, covered: ReadonlyMap<string, number>, outermost?: Operator) {
    this.block = block;
    this.isOutermost = outermost !== undefined;
    this.#last = outermost && lastProjection(outermost);
    this.#covered = covered;
    this.#coveredKinds = new Set([...covered.keys()].map(kindOfKey));
  }

  /** Whether the rows of this projection are the answer: no operator after it reads them. */
  isAnswer(projection: LogicalProjection): boolean {
    return this.isOutermost && this.#last === projection;
  }

  code(expression: Expression): Code {
    return this.#add(expression, false);
  }

  /** The value goes into the answer only: the code may return strings as their JSON text. */
  answerCode(expression: Expression): Code {
    return this.#add(expression, true);
  }

  #add(expression: Expression, isOnlyAnswered: boolean): Code {
    if (this.#isFinished) throw new Error('the block is compiled already');
    const code = new Code(this.#withCovers(expression), isOnlyAnswered);
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

  /** The scan of this source does not take documents apart. */
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
    for (const { expression, isOnlyAnswered } of this.#codes) this.#recordFields(expression, isOnlyAnswered);
    return yield* mapInSteps(this.#codes, (code) => {
      code.isQuoted = code.isOnlyAnswered && this.#fieldOf(code.expression)?.isQuoted === true;
      code.run = compile(this.#withFields(code.expression));
      return code.expression;
    });
  }

  #withCovers(expression: Expression): Expression {
    if (this.#covered.size === 0) return expression;
    return replace(expression, (node) => {
      // Only for kinds of expressions that an index covers: the key of an expression contains the text of everything in it.
      if (!this.#coveredKinds.has(node.kind)) return undefined;
      const slot = this.#covered.get(expressionKey(node));
      return slot === undefined ? undefined : slotOf(slot, node);
    });
  }

  #recordFields(node: Expression, isOnlyAnswered: boolean): void {
    const path = pathOf(node);
    const fields = path && this.#fields.get(path.slot);
    if (fields) {
      const key = JSON.stringify(path.names);
      const field = fields.get(key);
      if (!field)
        fields.set(key, { names: path.names, slot: this.block.allocate(), isQuoted: isOnlyAnswered });
      else if (!isOnlyAnswered) field.isQuoted = false;
      return;
    }
    if (node.kind === 'slot') this.#whole.add(node.slot);
    for (const child of childrenOf(node)) this.#recordFields(child, false);
  }

  #withFields(expression: Expression): Expression {
    return replace(expression, (node) => {
      const field = this.#fieldOf(node);
      return field && slotOf(field.slot, node);
    });
  }

  /** The field that the expression is, if it is extracted. */
  #fieldOf(expression: Expression): UsedField | undefined {
    const path = pathOf(expression);
    if (!path || this.#whole.has(path.slot)) return undefined;
    return this.#fields.get(path.slot)?.get(JSON.stringify(path.names));
  }
}

/** The projection whose rows are the answer: OFFSET and LIMIT pass rows on unchanged. */
function lastProjection(node: Operator): LogicalProjection | undefined {
  if (node.op === 'offset' || node.op === 'limit') return lastProjection(node.input);
  return node.op === 'project' ? node.projection : undefined;
}

/** The path of an expression `a.b.c` over a slot, with plain names. */
function pathOf(node: Expression): { slot: number; names: string[] } | undefined {
  const names: string[] = [];
  let part: Expression = node;
  while (part.kind === 'field') {
    const name = nameOf(part);
    if (name === undefined) return undefined;
    names.unshift(name);
    part = part.of;
  }
  return part.kind === 'slot' && names.length > 0 ? { slot: part.slot, names } : undefined;
}

function nameOf({ name, ignoresCase }: Field): string | undefined {
  return !ignoresCase && name.kind === 'constant' && typeof name.value === 'string' ? name.value : undefined;
}
