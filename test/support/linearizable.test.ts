import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { prng } from '#base/prng.ts';
import { isLinearizable, type Operation } from './linearizable.ts';

const write = (calledAt: number, answeredAt: number, value: string): Operation => ({
  kind: 'write',
  calledAt,
  answeredAt,
  value,
});
const read = (calledAt: number, answeredAt: number, value: string | null): Operation => ({
  kind: 'read',
  calledAt,
  answeredAt,
  value,
});
const replace = (calledAt: number, answeredAt: number, expected: string, value: string): Operation => ({
  kind: 'replace',
  calledAt,
  answeredAt,
  expected,
  value,
});

const refused: Readonly<Record<string, readonly Operation[]>> = {
  'a read of a value before it was written': [read(0, 1, 'a'), write(2, 3, 'a')],
  'a read of a value that no client wrote': [write(0, 1, 'a'), read(2, 3, 'b')],
  'a lost write': [write(0, 1, 'a'), read(2, 3, null)],
  'a read of an older value than the last write': [write(0, 1, 'a'), write(2, 3, 'b'), read(4, 5, 'a')],
  'reads that go back in time during a write': [
    write(0, 1, 'a'),
    write(2, 9, 'b'),
    read(3, 4, 'b'),
    read(5, 6, 'a'),
  ],
  'a write without an answer that happens, and then has not happened': [
    write(0, 1, 'a'),
    write(2, Infinity, 'b'),
    read(3, 4, 'b'),
    read(5, 6, 'a'),
  ],
  'two replacements of the same value': [write(0, 1, 'a'), replace(2, 5, 'a', 'b'), replace(2, 5, 'a', 'c')],
  'two readers that see two writes in different orders': [
    write(0, 20, 'a'),
    write(0, 20, 'b'),
    read(1, 2, 'a'),
    read(3, 4, 'b'),
    read(5, 6, 'a'),
  ],
};

const accepted: Readonly<Record<string, readonly Operation[]>> = {
  'writes and reads one after the other': [
    write(0, 1, 'a'),
    read(2, 3, 'a'),
    write(4, 5, 'b'),
    read(6, 7, 'b'),
  ],
  'a read during a write of the old or the new value': [
    write(0, 1, 'a'),
    write(2, 9, 'b'),
    read(3, 4, 'a'),
    read(5, 6, 'b'),
  ],
  'a write without an answer that never happens': [
    write(0, 1, 'a'),
    write(2, Infinity, 'b'),
    read(9, 10, 'a'),
  ],
  'a write without an answer that happens late': [
    write(0, 1, 'a'),
    write(2, Infinity, 'b'),
    read(3, 4, 'a'),
    read(90, 91, 'b'),
  ],
  'a replacement of what an unanswered write made': [
    write(0, 1, 'a'),
    write(2, Infinity, 'b'),
    replace(3, 4, 'b', 'c'),
    read(5, 6, 'c'),
  ],
};

describe('linearizability of one register', () => {
  for (const [title, history] of Object.entries(refused))
    test(`refuses ${title}`, () => assert.equal(isLinearizable(history), false));
  for (const [title, history] of Object.entries(accepted))
    test(`accepts ${title}`, () => assert.equal(isLinearizable(history), true));

  test('throws for a history without an answer', () => {
    assert.throws(() => isLinearizable([]), /no operation with an answer/);
    assert.throws(() => isLinearizable([write(0, Infinity, 'a')]), /no operation with an answer/);
  });

  test('accepts random histories of a real register, and refuses them when one read is changed', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const history = randomHistory(seed);
      assert.equal(isLinearizable(history), true, `seed ${seed}`);
      const at = history.findIndex((operation, index) => index > 100 && operation.kind === 'read');
      const changed = history.map((operation, index) =>
        index === at ? { ...operation, value: 'never written' } : operation,
      );
      assert.equal(isLinearizable(changed), false, `seed ${seed}, changed`);
    }
  });

  test('decides as a search of all orders does, for values that several operations write too', () => {
    const random = prng(1);
    const decisions = { true: 0, false: 0 };
    for (let round = 0; round < 20_000; round++) {
      const history = Array.from({ length: 6 }, () => anyOperation(random));
      if (history.every(({ answeredAt }) => answeredAt === Infinity)) continue;
      const expected = hasAnOrder(history, null);
      assert.equal(isLinearizable(history), expected, JSON.stringify(history));
      decisions[`${expected}`]++;
    }
    assert.ok(decisions.true > 1_000 && decisions.false > 1_000, JSON.stringify(decisions));
  });

  test('refuses a lost write after many writes without an answer that took effect', () => {
    const history: Operation[] = [];
    for (let i = 0; i < 40; i++) history.push(write(i, Infinity, `v${i}`));
    for (let i = 0; i < 40; i++) history.push(read(100 + 3 * i, 104 + 3 * i, `v${i}`));
    assert.equal(isLinearizable(history), true);
    assert.equal(isLinearizable([...history, write(300, 301, 'last'), read(302, 303, 'v7')]), false);
  });
});

const anyOperation = (random: ReturnType<typeof prng>): Operation => {
  const value = (): string => 'abc'[random.below(3)] as string;
  const calledAt = random.below(8);
  const kind = random.below(3);
  const answeredAt = kind > 0 && random.below(4) === 0 ? Infinity : calledAt + 1 + random.below(6);
  if (kind === 0) return read(calledAt, answeredAt, random.below(4) === 0 ? null : value());
  return kind === 1 ? write(calledAt, answeredAt, value()) : replace(calledAt, answeredAt, value(), value());
};

/** Tries every operation that can be the next one. */
function hasAnOrder(history: readonly Operation[], value: string | null): boolean {
  const answered = history.filter(({ answeredAt }) => answeredAt !== Infinity);
  if (answered.length === 0) return true;
  const firstAnswerAt = Math.min(...answered.map(({ answeredAt }) => answeredAt));
  return history.some((operation) => {
    const { calledAt, kind } = operation;
    if (calledAt > firstAnswerAt) return false;
    if (kind === 'read' && operation.value !== value) return false;
    if (kind === 'replace' && operation.expected !== value) return false;
    return hasAnOrder(
      history.filter((other) => other !== operation),
      operation.value,
    );
  });
}

/** What four clients see of a register whose operations happen somewhere between call and answer; some have no answer. */
function randomHistory(seed: number): Operation[] {
  const random = prng(seed);
  const history: Operation[] = [];
  let value: string | null = null;
  const freeMs = [0, 0, 0, 0];
  for (let happensMs = 1; history.length < 200; happensMs++) {
    const client = freeMs.findIndex((free) => free < happensMs);
    if (client < 0) continue;
    const calledAt = random.below(2) ? (freeMs[client] as number) : happensMs - 0.5;
    const isLost = random.below(20) === 0;
    const answeredAt = isLost ? Infinity : happensMs + 0.5 + random.below(4);
    freeMs[client] = isLost ? happensMs : answeredAt;
    if (random.below(2) === 0) {
      value = `v${happensMs}`;
      history.push(write(calledAt, answeredAt, value));
    } else if (!isLost) history.push(read(calledAt, answeredAt, value));
  }
  return history;
}
