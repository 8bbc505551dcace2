import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplacingStatement } from '#query/query.contract.ts';
import { aQueryService } from '../../../test/support/query-service.ts';

/** Two services that are nodes of one cluster. */
function twoNodes() {
  const both = [aQueryService(), aQueryService()] as const;
  let asked = 0;
  for (const [at, { service }] of both.entries()) {
    const other = both[1 - at] as (typeof both)[number];
    const node = service.deps.node();
    const nodes = [0, 1].map((n) => ({ name: `n${n}`, services: ['n1ql'], ports: {}, isThis: n === at }));
    Object.assign(service.deps, {
      node: () => ({ ...node, nodes }),
      otherNodes: {
        ...service.deps.otherNodes,
        prepared: async (name: string, queryContext: string) => {
          asked++;
          return other.service.prepared.textOf(name, queryContext);
        },
        discardPrepared: async (replaced: ReplacingStatement) => other.service.prepared.discard(replaced),
      },
    });
  }
  return { both, asked: () => asked };
}

test('a statement that was prepared on another node runs by its name, and by its encoded plan', async () => {
  const { both, asked } = twoNodes();
  const [first, second] = both;
  const { results } = await first.answerOf({ statement: 'PREPARE p FROM ARGS' });
  const [{ encoded_plan: plan }] = results as [{ encoded_plan: string }];
  for (const fields of [{ prepared: 'p' }, { statement: 'EXECUTE p' }])
    assert.deepEqual((await second.answerOf({ ...fields, args: [1] })).results?.[0], [1]);
  assert.equal(asked(), 1);
  second.service.prepared.remove('p');
  const answer = await second.answerOf({ prepared: 'p', encoded_plan: plan, args: [2] });
  assert.deepEqual(answer.results?.[0], [2]);
  const codes = async (fields: object) => (await second.answerOf(fields)).errors?.map(({ code }) => code);
  assert.deepEqual(await codes({ prepared: 'q' }), [4040]);
  assert.deepEqual(await codes({ prepared: 'p', query_context: 'b.s' }), [4040]);
  assert.deepEqual(await codes({ prepared: 'q', encoded_plan: plan }), [4070]);
});

test('PREPARE replaces another statement of this name on all nodes, and keeps an equal one', async () => {
  const { both, asked } = twoNodes();
  const [first, second] = both;
  for (const { answerOf } of both) await answerOf({ statement: 'PREPARE p FROM ROWS 1' });
  assert.equal((await first.answerOf({ prepared: 'p' })).results?.length, 1);
  assert.equal(asked(), 0);
  first.service.prepared.remove('p');
  await first.answerOf({ statement: 'PREPARE p FROM ROWS 3' });
  assert.equal((await second.answerOf({ prepared: 'p' })).results?.length, 3);
});
