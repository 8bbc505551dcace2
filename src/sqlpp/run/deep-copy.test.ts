import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '../values/value.ts';
import { deepCopyInSteps } from './deep-copy.ts';

test('an object of very many members is copied in steps, too', () => {
  const count = 20_000;
  let read = 0;
  const wide: Record<string, Value> = {};
  for (let at = 0; at < count; at++) {
    const get = (): Value => {
      read++;
      return { at };
    };
    Object.defineProperty(wide, `m${at}`, { enumerable: true, get });
  }
  const steps = deepCopyInSteps({ wide, list: [1, [2]] }, new Set());
  let before = 0;
  let most = 0;
  for (;;) {
    const step = steps.next();
    most = Math.max(most, read - before);
    before = read;
    if (!step.done) continue;
    const { wide: copy, list } = step.value as { wide: Record<string, Value>; list: Value };
    assert.equal(JSON.stringify([Object.keys(copy).length, copy['m7'], list]), '[20000,{"at":7},[1,[2]]]');
    break;
  }
  assert.equal(read, count);
  assert.ok(most <= 4_096, `${most} members in one step`);
});
