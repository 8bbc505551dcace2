// Compares the operations on bytes with the same operations on parsed values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SubdocOpcode as Op } from '#wire/subdoc-opcodes.ts';
import { aSeed, type Json, type Random, randomJson } from '../../../test/support/random.ts';
import { isJson } from '../value/json.ts';
import { lookUp, mutate } from './operations.ts';

type Step = string | number;
type Container = Json[] | { [key: string]: Json };

const names = ['a', 'b', 'c', 'name', 'é€', '😀', 'with space', 'q"uote', 'back\\slash', 'new\nline', 'new'];

/** A path that often exists: it follows the value and deviates sometimes. */
function randomPath(random: Random, value: Json): Step[] {
  const steps: Step[] = [];
  let at: Json | undefined = value;
  while (random(5) > 0 && steps.length < 6) {
    let step: Step = random(2) ? (names[random(names.length)] as string) : random(4) - 1;
    if (random(6) > 0) {
      if (Array.isArray(at)) step = random(at.length + 2) - 1;
      else if (at !== null && typeof at === 'object' && random(4)) step = Object.keys(at)[random(5)] ?? step;
    }
    steps.push(step);
    at = childOf(at, step);
  }
  return steps;
}

function pathText(steps: readonly Step[]): string {
  const parts = steps.map((step, i) => {
    if (typeof step === 'number') return `[${step}]`;
    return `${i > 0 ? '.' : ''}${JSON.stringify(step).slice(1, -1)}`;
  });
  return parts.join('');
}

function childOf(value: Json | undefined, step: Step): Json | undefined {
  if (Array.isArray(value) && typeof step === 'number') return value.at(step);
  if (isObject(value) && typeof step === 'string')
    return Object.hasOwn(value, step) ? value[step] : undefined;
  return undefined;
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The container of the path's last component, or the status if there is none. */
function walkTo(root: Json, steps: readonly Step[], mkdirP: boolean): Container | number {
  let at: Json = root;
  for (const [i, step] of steps.entries()) {
    if (typeof step === 'number' ? !Array.isArray(at) : !isObject(at)) return Status.subdocPathMismatch;
    const container = at as Container;
    if (i === steps.length - 1) return container;
    let child = childOf(container, step);
    if (child === undefined) {
      const rest = steps.slice(i);
      if (!mkdirP || rest.some((s) => typeof s === 'number')) return Status.subdocPathNotFound;
      child = {};
      (container as { [key: string]: Json })[step as string] = child;
    }
    at = child;
  }
  throw new Error('no steps');
}

/** Applies a mutation to parsed JSON in place; returns the status. */
function model(opcode: number, mkdirP: boolean, root: Json, steps: readonly Step[], value: Json): number {
  const step = steps.at(-1) as Step;
  const container = walkTo(root, steps, mkdirP && opcode !== Op.replace && opcode !== Op.delete);
  if (typeof container === 'number') return container;
  const old = childOf(container, step);
  const put = (json: Json) => {
    if (Array.isArray(container))
      container.splice((step as number) < 0 ? container.length - 1 : (step as number), 1, json);
    else container[step as string] = json;
    return Status.success;
  };
  switch (opcode) {
    case Op.dictAdd:
    case Op.dictUpsert:
      if (typeof step === 'number') return Status.subdocPathInvalid;
      return old !== undefined && opcode === Op.dictAdd ? Status.subdocPathExists : put(value);
    case Op.replace:
      return old === undefined ? Status.subdocPathNotFound : put(value);
    case Op.delete:
      if (old === undefined) return Status.subdocPathNotFound;
      if (Array.isArray(container)) container.splice(step as number, 1);
      else delete container[step as string];
      return Status.success;
    case Op.pushLast:
    case Op.pushFirst:
      if (old === undefined) {
        return mkdirP && typeof step === 'string' ? put([value]) : Status.subdocPathNotFound;
      }
      if (!Array.isArray(old)) return Status.subdocPathMismatch;
      if (opcode === Op.pushLast) old.push(value);
      else old.unshift(value);
      return Status.success;
    case Op.arrayInsert:
      if (typeof step !== 'number' || step < 0) return Status.subdocPathInvalid;
      if (step > (container as Json[]).length) return Status.subdocPathNotFound;
      (container as Json[]).splice(step, 0, value);
      return Status.success;
    default:
      throw new Error('not modelled');
  }
}

const opcodes = [Op.dictAdd, Op.dictUpsert, Op.replace, Op.delete, Op.pushLast, Op.pushFirst, Op.arrayInsert];

test('a mutation returns the same text as the model, or both refuse it', (t) => {
  const random = aSeed(t);
  const seen = new Map<string, number>();
  for (let round = 0; round < 20_000; round++) {
    const [first, second] = [randomJson(random, 3), randomJson(random, 3)];
    const before: Json = random(2) === 0 ? [first, second] : { a: first, b: second };
    const text = JSON.stringify(before, null, random(3));
    const steps = randomPath(random, before);
    if (steps.length === 0) continue;
    const opcode = opcodes[random(opcodes.length)] as number;
    const mkdirP = random(2) === 0;
    const value = randomJson(random, 2);
    const path = Buffer.from(pathText(steps));
    const edit = mutate(opcode, mkdirP, Buffer.from(text), path, Buffer.from(JSON.stringify(value)));
    const expected = structuredClone(before);
    const status = model(opcode, mkdirP, expected, steps, value);
    const what = `${opcode.toString(16)} ${mkdirP} ${path} ${JSON.stringify(value)} ${text}`;
    if (status === Status.success) {
      assert.equal(edit.status, Status.success, what);
      assert.deepEqual(JSON.parse(edit.text.toString()), expected, what);
      assert.ok(isJson(edit.text, 0, edit.text.length), what);
    } else if (isAlsoCorrect(opcode, steps, edit.status)) continue;
    else assert.equal(edit.status.toString(16), status.toString(16), what);
    const key = `${opcode.toString(16)} ${edit.status.toString(16)}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  for (const opcode of opcodes)
    assert.ok((seen.get(`${opcode.toString(16)} 0`) ?? 0) > 20, 'an operation hardly ever succeeds');
});

/** A path that ends in the wrong type of component may be refused before or after it is followed. */
function isAlsoCorrect(opcode: number, steps: readonly Step[], status: number): boolean {
  const member = typeof steps.at(-1) === 'string';
  const wrong =
    opcode === Op.arrayInsert ? member || steps.at(-1) === -1 : !member && opcode <= Op.dictUpsert;
  return wrong && status === Status.subdocPathInvalid;
}

test('get, exists and get_count agree with the parsed value', (t) => {
  const random = aSeed(t);
  for (let round = 0; round < 20_000; round++) {
    const root = randomJson(random, 4);
    const text = Buffer.from(JSON.stringify(root, null, random(3)));
    const steps = randomPath(random, root);
    const path = Buffer.from(pathText(steps));
    const expected = steps.reduce<Json | undefined>(childOf, root);
    const found = lookUp(Op.get, text, path);
    const what = `${path} ${text}`;
    assert.equal(found.status === Status.success, expected !== undefined, what);
    assert.equal(lookUp(Op.exists, text, path).status, found.status, what);
    if (expected === undefined) continue;
    assert.deepEqual(JSON.parse(found.value.toString()), expected, what);
    assert.equal(found.value.buffer, text.buffer, 'a view, not a copy');
    const count = lookUp(Op.getCount, text, path);
    if (typeof expected !== 'object' || expected === null)
      assert.equal(count.status, Status.subdocPathMismatch);
    else assert.equal(count.value.toString(), String(Object.keys(expected).length), what);
  }
});

test('no operation throws or hangs on malformed text', (t) => {
  const random = aSeed(t);
  for (let round = 0; round < 20_000; round++) {
    const root = randomJson(random, 4);
    const text = Buffer.from(JSON.stringify(root));
    const path = Buffer.from(pathText(randomPath(random, root)));
    for (let changes = random(3); changes >= 0; changes--) {
      text[random(text.length)] = random(2) ? random(256) : ('"{}[],:\\'.charCodeAt(random(8)) as number);
    }
    lookUp([Op.get, Op.exists, Op.getCount][random(3)] as number, text, path);
    mutate(0xc7 + random(9), random(2) === 0, text, path, Buffer.from('1'));
  }
});
