// SET and UNSET change a copy of the document, which shares unchanged parts with the original. Values are computed from the original document,
// positions and names in paths from the copy, so that `SET a[ARRAY_LENGTH(a)] = x FOR x IN b END` appends every element.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { sqlError } from '../errors/sql-error.ts';
import { inSteps } from '../expressions/paused-work.ts';
import type { Source } from '../plan/block.ts';
import type {
  DocumentChanges,
  ForPlan,
  PathPlan,
  PathStep,
  SetPlan,
  UnsetPlan,
} from '../plan/change-plans.ts';
import type { Expression } from '../tree/expression.ts';
import { countSteps, writtenSteps } from '../values/step-limit.ts';
import { isTrue } from '../values/types.ts';
import { newObject, type Value, type ValueObject } from '../values/value.ts';
import type { BlockCompiler, Code } from './code.ts';
import { type Copies, deepCopy, deepCopyInSteps, hasMembers } from './deep-copy.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

/** The new document, and the assigned metadata. */
export interface AssignedDocument {
  readonly document: Value;
  readonly meta: Readonly<Record<string, Value>>;
}

export type Assign = (run: Run, row: Row, slot: number) => AssignedDocument;

/** `copies`: the arrays and objects that belong to this document alone. Others may be values of parameters, constants and other documents. */
type Change = (run: Run, row: Row, copy: Row, copies: Copies) => void;
/** A `Change` of each element of a FOR, with pauses between the steps. */
type ChangeInSteps = (run: Run, row: Row, copy: Row, copies: Copies) => WorkSteps<void>;
/** A term of SET or UNSET. */
type Term = { readonly change: Change } | { readonly inSteps: ChangeInSteps };

export function compileChanges(compiler: BlockCompiler, changes: DocumentChanges, source: Source): Assign {
  const { alias, metaSlot } = source;
  const padding: Padding = { elements: 0 };
  // With a FOR the document is parsed and copied completely first: a FOR may read the same members for each of its elements, and it changes the
  // objects that its variables refer to.
  const hasFor = [...changes.set, ...changes.unset].some((term) => term.for !== undefined);
  const terms: Term[] = [
    ...changes.set.map((term) => compileSet(compiler, term, source, { padding, hasFor })),
    ...changes.unset.map((term) => compileUnset(compiler, term, source)),
  ];
  function* assign(run: Run, row: Row, slot: number): WorkSteps<AssignedDocument> {
    padding.elements = 0;
    const copy = row.slice();
    const meta = newObject();
    const document = hasFor ? run.resolveDeep(row[slot]) : run.resolve(row[slot]);
    const copies: Copies = new Set();
    copy[slot] = hasFor ? yield* deepCopyInSteps(document, copies) : document;
    copy[metaSlot as number] = meta;
    const original = hasFor ? row.with(slot, document) : row;
    for (const term of terms)
      if ('change' in term) term.change(run, original, copy, copies);
      else yield* counting(padding, term.inSteps(run, original, copy, copies));
    if (copy[slot] === undefined) throw sqlError(5100, alias);
    return { document: copy[slot], meta };
  }
  if (!hasFor) return (run, row, slot) => resultOf(assign(run, row, slot));
  return (run, row, slot) => inSteps(terms, run.evaluation, () => assign(run, row, slot));
}

function compileSet(
  compiler: BlockCompiler,
  term: SetPlan,
  source: Source,
  { padding, hasFor }: { readonly padding: Padding; readonly hasFor: boolean },
): Term {
  const value = compiler.code(term.value);
  const write = term.isMeta
    ? compileMetaPath(compiler, term.path)
    : compilePath(compiler, term.path, source, (target, step, next) =>
        setMember(target, step, next, padding),
      );
  const set: Change = (run, row, copy, copies) => {
    const next = run.resolve(value.run(row, run.evaluation));
    write(run, row, copy, hasFor ? deepCopy(next, copies) : next, copies);
  };
  return term.for ? { inSteps: compileFor(compiler, term.for, set) } : { change: set };
}

function compileUnset(compiler: BlockCompiler, term: UnsetPlan, source: Source): Term {
  const write = term.isMeta
    ? compileMetaPath(compiler, term.path)
    : compilePath(compiler, term.path, source, unsetMember);
  const unset: Change = (run, row, copy, copies) => write(run, row, copy, undefined, copies);
  if (!term.for) return { change: unset };
  const compile = term.for.when ? compileFor : compileForAll;
  return { inSteps: compile(compiler, term.for, unset) };
}

/** Compiles a change of each combination of the elements of FOR. Values are computed from the original document; assignments change the copy. */
function compileFor(compiler: BlockCompiler, node: ForPlan, change: Change): ChangeInSteps {
  const when = node.when && compiler.code(node.when);
  const expand = compileRanges(compiler, node.dimensions);
  return function* forEach(run, row, copy, copies) {
    yield;
    const originals = expand(run, row);
    yield;
    const changing = expand(run, copy);
    // An earlier term changed what this one iterates over: the elements of original and copy no longer correspond.
    if (originals.length !== changing.length) return;
    for (const [at, changed] of changing.entries()) {
      const original = originals[at] as Row;
      if (at % changedAtOnce === 0) yield;
      if (when && !isTrue(when.run(original, run.evaluation))) continue;
      change(run, original, changed, copies);
    }
  };
}

/** UNSET without WHEN evaluates no expression over the original document, so it iterates over the copy as earlier terms have changed it. */
function compileForAll(compiler: BlockCompiler, { dimensions }: ForPlan, remove: Change): ChangeInSteps {
  const expand = compileRanges(compiler, dimensions);
  return function* forAll(run, row, copy, copies) {
    yield;
    for (const [at, changed] of expand(run, copy).entries()) {
      if (at % changedAtOnce === 0) yield;
      remove(run, row, changed, copies);
    }
  };
}

/** Runs the steps of one document. Between them the statement changes other documents, whose padding it counts in the same `padding`. */
function* counting(padding: Padding, steps: WorkSteps<void>): WorkSteps<void> {
  let { elements } = padding;
  for (;;) {
    padding.elements = elements;
    const { done } = steps.next();
    elements = padding.elements;
    if (done) return;
    yield;
  }
}

/** How many combinations FOR changes in one step. */
const changedAtOnce = 256;

/** Returns a row for each combination of elements. */
function compileRanges(
  compiler: BlockCompiler,
  dimensions: ForPlan['dimensions'],
): (run: Run, row: Row) => Row[] {
  const ranges = dimensions.map((bindings) =>
    bindings.map((binding) => ({ ...binding, code: compiler.code(binding.of) })),
  );
  return (run, row) =>
    ranges.reduce<Row[]>((rows, bindings) => rows.flatMap((each) => combine(run, each, bindings)), [row]);
}

interface BoundRange {
  readonly slot: number;
  readonly positionSlot: number | undefined;
  readonly isDeep: boolean;
  readonly code: Code;
}

/** The steps that are counted for a combination of elements: it has a row, of about a hundred bytes. */
const combinationSteps = 4 * writtenSteps;

/** The ranges iterate in parallel, up to the end of the shortest. */
function combine(run: Run, row: Row, bindings: readonly BoundRange[]): Row[] {
  const ranges = bindings.map(({ code, isDeep }) =>
    elementsOf(run.resolve(code.run(row, run.evaluation)), isDeep),
  );
  const length = Math.min(...ranges.map(({ values }) => values.length));
  countSteps(combinationSteps * length);
  return Array.from({ length }, (_, at) => {
    const next = row.slice();
    bindings.forEach(({ slot, positionSlot }, index) => {
      const { names, values } = ranges[index] as Elements;
      next[slot] = values[at];
      if (positionSlot !== undefined) next[positionSlot] = names[at];
    });
    return next;
  });
}

/** What a range iterates over. Two lists of millions of elements need a quarter of the memory of a list of pairs. */
interface Elements {
  /** The position or name of each value. */
  readonly names: Value[];
  readonly values: Value[];
}

/** WITHIN includes nested values. */
function elementsOf(value: Value, isDeep: boolean): Elements {
  const elements: Elements = { names: [], values: [] };
  addElements(elements, value, isDeep);
  return elements;
}

function addElements(elements: Elements, value: Value, isDeep: boolean): void {
  if (typeof value !== 'object' || value === null) return;
  const isArray = Array.isArray(value);
  if (!isArray && !isDeep) return;
  const names = isArray ? null : Object.keys(value);
  const items = isArray ? (value as readonly Value[]) : Object.values(value as ValueObject);
  countSteps(writtenSteps * items.length);
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    elements.names.push(names === null ? at : names[at]);
    elements.values.push(item);
    if (isDeep) addElements(elements, item, true);
  }
}

type Write = (run: Run, row: Row, copy: Row, value: Value, copies: Copies) => void;

interface Step {
  readonly kind: PathStep['kind'];
  readonly value: Value;
}

type Assignment = (target: Value, step: Step, value: Value) => void;

function compilePath(compiler: BlockCompiler, path: PathPlan, source: Source, assign: Assignment): Write {
  const steps = path.steps.map((step) => ({ kind: step.kind, code: compiler.code(stepCode(step)) }));
  const isConstant = path.steps.every((step) => stepCode(step).kind === 'constant');
  return (run, row, copy, value, copies) => {
    const from = isConstant ? row : withMetaOf(row, copy, source);
    const stepOf = ({ kind, code }: (typeof steps)[number]): Step => ({
      kind,
      value: run.resolve(code.run(from, run.evaluation)),
    });
    const last = steps.at(-1);
    if (!last) {
      copy[path.rootSlot] = value;
      return;
    }
    let target = ownCopy(copy[path.rootSlot], copies);
    copy[path.rootSlot] = target;
    for (const step of steps.slice(0, -1)) target = ownMember(target, stepOf(step), copies);
    assign(target, stepOf(last), value);
  };
}

/** The copy with the metadata of the original document: the copy has only the metadata that the statement assigns. */
function withMetaOf(row: Row, copy: Row, { metaSlot }: Source): Row {
  const view = copy.slice();
  view[metaSlot as number] = row[metaSlot as number];
  return view;
}

function compileMetaPath(compiler: BlockCompiler, path: PathPlan): Write {
  const steps = path.steps.map((step) => compiler.code(stepCode(step)));
  return (run, row, copy, value) => {
    const names = steps.map((step) => String(run.resolve(step.run(row, run.evaluation))));
    assignMeta(copy[path.rootSlot] as ValueObject, names, value);
  };
}

/** Adds an assignment to the assigned metadata. The name of a removed attribute is a member without a value. */
function assignMeta(meta: ValueObject, [first, name]: readonly string[], value: Value): void {
  if (first === undefined) return;
  if (name === undefined) {
    (meta as Record<string, Value>)[first] = value;
    return;
  }
  const members = (meta[first] ?? newObject()) as Record<string, Value>;
  members[name] = value;
  (meta as Record<string, Value>)[first] = members;
}

function stepCode(step: PathStep): Expression {
  return step.kind === 'name' ? step.name : step.index;
}

function memberAt(target: Value, { kind, value }: Step): Value {
  if (typeof target !== 'object' || target === null) return undefined;
  if (Array.isArray(target))
    return kind === 'index' && typeof value === 'number' ? (target as Value[]).at(value) : undefined;
  return kind === 'name' && typeof value === 'string' ? (target as ValueObject)[value] : undefined;
}

/** How many elements SET adds between the ends of arrays of a document and later positions. */
interface Padding {
  elements: number;
}

/** The most such elements of one document (functions make arrays up to the same length): up to 256 changed documents are in memory at once. */
const paddingMax = 32_767;

/**
 * Sets a member of an object, or an element: positions between the end of the array and a later one become NULL, negative ones count from the
 * end. Other paths have no effect.
 */
function setMember(target: Value, step: Step, value: Value, padding: Padding): void {
  if (!Array.isArray(target)) {
    setName(target, step, value);
    return;
  }
  const { kind, value: position } = step;
  if (kind !== 'index' || typeof position !== 'number' || !Number.isInteger(position)) return;
  const items = target as Value[];
  const at = position < 0 ? items.length + position : position;
  if (at < 0) return;
  padding.elements += Math.max(0, at - items.length);
  if (padding.elements >= paddingMax) throw sqlError(5035, 'the position in SET');
  while (items.length < at) items.push(null);
  items[at] = value ?? null;
}

/** Removes a member of an object. An element has no name that could be removed: the array stays. */
function unsetMember(target: Value, step: Step): void {
  if (!Array.isArray(target)) setName(target, step, undefined);
}

function setName(target: Value, { kind, value: name }: Step, value: Value): void {
  if (typeof target !== 'object' || target === null || kind !== 'name' || typeof name !== 'string') return;
  const members = target as Record<string, Value>;
  if (value === undefined) delete members[name];
  else members[name] = value;
}

/** The value if it belongs to the document alone, else a copy that does; its members may belong to others. */
function ownCopy(value: Value, copies: Copies): Value {
  if (!hasMembers(value) || copies.has(value)) return value;
  const copy = Array.isArray(value) ? [...(value as Value[])] : Object.assign(newObject(), value);
  copies.add(copy);
  return copy;
}

/** The member at the step, which is replaced by a copy unless it belongs to the document alone. */
function ownMember(target: Value, step: Step, copies: Copies): Value {
  const member = memberAt(target, step);
  const copy = ownCopy(member, copies);
  if (copy === member) return copy;
  if (!Array.isArray(target)) setName(target, step, copy);
  else {
    // As Array.at() reads positions.
    const position = Math.trunc(step.value as number) || 0;
    (target as Value[])[position < 0 ? target.length + position : position] = copy;
  }
  return copy;
}
