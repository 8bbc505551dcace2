// Prepared statements follow whether collections may be scanned without an index.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService } from '../../../test/support/query-service.ts';
import { noSequentialScans } from '../query.contract.ts';

test('a plan that may scan a collection is made again when the request or the setting forbids that', async () => {
  const { service, engine, answerOf } = aQueryService();
  const mayScan: boolean[] = [];
  const prepare = engine.prepare.bind(engine);
  engine.prepare = (text, context) => {
    mayScan.push(context.sequentialScans);
    return prepare(text, context);
  };
  const scansAfter = async (...fields: readonly object[]) => {
    mayScan.length = 0;
    for (const each of fields) assert.equal((await answerOf(each)).status, 'success');
    return mayScan;
  };
  const forbidden = { n1ql_feat_ctrl: noSequentialScans };
  await scansAfter({ statement: 'PREPARE p FROM ROWS 1' });
  const run = { prepared: 'p' };
  assert.deepEqual(await scansAfter(run, run), []);
  assert.deepEqual(await scansAfter({ ...run, ...forbidden }, run, { ...run, ...forbidden }), [false]);
  const automatic = { statement: 'ROWS 2', auto_prepare: true };
  assert.deepEqual(await scansAfter(automatic, automatic), [true]);
  service.deps.settings.sequentialScans = false;
  assert.deepEqual(await scansAfter(automatic, automatic, run), [false]);
});
