import assert from 'node:assert/strict';
import { test } from 'node:test';
import { query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { Expression } from '../tree/expression.ts';
import { LetInliner } from './let-inliner.ts';
import { visit } from './walk.ts';

const slotOf = (slot: number): Expression => ({
  kind: 'slot',
  slot,
  original: { kind: 'self', at: -1 },
  at: -1,
});

/** Variables in slots 0, 1, …: the first is `x + x` for slot 100, each further one `v + v` for the variable `v` before it. The expanded variable of slot n has 2 ** (n + 2) - 1 nodes. */
const doubling = (count: number) =>
  Array.from({ length: count }, (_, slot) => {
    const before = slotOf(slot === 0 ? 100 : slot - 1);
    const expression: Expression = { kind: 'arithmetic', operator: '+', left: before, right: before, at: -1 };
    return { name: `v${slot}`, slot, expression };
  });

function nodesOf(expression: Expression): number {
  let nodes = 0;
  visit(expression, () => nodes++);
  return nodes;
}

test('a LET variable is replaced by its expression with all variables in it replaced', () => {
  const inliner = new LetInliner(doubling(4), () => true);
  assert.equal(nodesOf(inliner.inlined(slotOf(3))), 31);
});

test('a LET variable whose expression has too many nodes is not replaced', () => {
  const bindings = doubling(60);
  assert.deepEqual(new LetInliner(bindings, () => true).inlined(slotOf(59)), slotOf(59));
  const inliner = new LetInliner(bindings, () => true);
  const operands = Array.from({ length: 100 }, () => slotOf(8));
  const nodes = nodesOf(inliner.inlined({ kind: 'logical', operator: 'or', operands, at: -1 }));
  // The OR, as many expanded variables as have 10,000 nodes together, and the other variables.
  const expanded = Math.floor(10_000 / 1_023);
  assert.equal(nodes, 1 + expanded * 1_023 + (100 - expanded));
});

test('a query of sixty LET variables that each read the one before twice is planned and executed', async () => {
  const datastore = new MemoryDatastore();
  const t = datastore.add('t');
  datastore.put(t, 'one', { x: 1 });
  datastore.put(t, 'none', { x: -1 });
  const list = Array.from({ length: 60 }, (_, at) =>
    at === 0 ? 'v0 = t.x' : `v${at} = v${at - 1} + v${at - 1}`,
  );
  const statement = `SELECT v59 AS sum FROM t LET ${list.join(', ')} WHERE v59 > 0`;
  assert.deepEqual(await query(datastore, statement), [{ sum: 2 ** 59 }]);
});
