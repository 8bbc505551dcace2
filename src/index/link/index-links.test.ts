import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnavailableError } from '#base/unavailable-error.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { aDefinition } from '../../../test/support/simple-index-language.ts';
import { IndexLinks } from './index-links.host.ts';
import { connectIndexes } from './linked-indexes.ts';

/** The query thread's side of a link to a main thread that fails with this error when it changes definitions. */
async function failingWith(error: Error) {
  const nothing = { onChange: () => ({ stop: () => {} }) };
  const fail = () => Promise.reject(error);
  const links = new IndexLinks({
    definitions: { ...nothing, all: () => [], create: fail, drop: fail, build: fail, alter: fail },
    indexAdmin: { ...nothing, reports: () => [] },
    indexNodes: { readyOnOtherNodes: async () => {}, goneFromOtherNodes: async () => {} },
    damaged: async () => {},
  });
  const linked = await connectIndexes({
    port: links.connect(),
    readers: {} as never,
    clock: new ManualClock(),
    directions: {} as never,
  });
  return { links, linked };
}

test('DROP INDEX fails with the reason why the configuration cannot be changed now, but hides the reason of an unexpected error', async () => {
  const reason = 'Nothing was changed: the founder cannot be used now.';
  const { keyspace } = aDefinition([]);
  const refused = async (error: Error): Promise<unknown> => {
    const { links, linked } = await failingWith(error);
    const failure = await linked.admin.drop(keyspace, 'i', { ifExists: true }).catch((thrown) => thrown);
    linked.close();
    links.stop();
    return failure;
  };
  const unavailable = await refused(new UnavailableError(reason));
  assert.ok(unavailable instanceof SqlError);
  assert.deepEqual([unavailable.code, unavailable.message], [5000, reason]);
  assert.ok(!((await refused(new TypeError(reason))) instanceof SqlError));
});
