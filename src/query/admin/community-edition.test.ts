// The community edition stores neither functions in JavaScript nor their libraries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import { answerAdmin } from './admin.ts';

const library = { name: 'l', bucket: '', scope: '', code: 'function f() {}' };
const udf = {
  identity: { type: 'global', name: 'f' },
  definition: { '#language': 'javascript', parameters: [], library: 'l', object: 'f' },
};
const backupOf = (parts: object): string =>
  JSON.stringify({ udfMagic: '4D6172636F2072756C6573', version: '0x01', udfs: [], ...parts });

test('the community edition refuses libraries and backups of functions in JavaScript', async () => {
  const { service } = aQueryService({}, 'community');
  const post = (path: string, body: string) =>
    answerAdmin(service, { method: 'POST', path, body }, originOf('admin', 'password'));
  for (const [path, body] of [
    ['/evaluator/v1/libraries/l', library.code],
    ['/api/v1/backup', backupOf({ udfs: [udf] })],
    ['/api/v1/backup', backupOf({ libraries: [library] })],
  ] as const) {
    const { text } = await post(path, body);
    assert.match(
      text,
      /"code":10100,.*javascript are only supported in Enterprise Edition/,
      `${path} ${body}`,
    );
  }
  assert.equal((await post('/api/v1/backup', backupOf({}))).status, 200);
});
