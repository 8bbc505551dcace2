// Backups of functions are restored while other requests run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aQueryService, originOf } from '../../../test/support/query-service.ts';
import type { FunctionDefinition } from '../query.contract.ts';
import { answerAdmin } from './admin.ts';

const udf = (name: string, text: string) => ({
  identity: { type: 'global', name },
  definition: { '#language': 'inline', parameters: [], text },
});

async function restored(udfs: readonly object[]) {
  const { service } = aQueryService();
  let nowMs = 0;
  service.deps.clock.monotonicMs = () => nowMs++;
  const names: string[] = [];
  const changeFunction = async ({ definition }: { definition: FunctionDefinition }) => {
    names.push(definition.name);
    return 'done';
  };
  Object.assign(service.deps, { changeFunction });
  let pauses = 0;
  service.slices.begin = () => ({ pause: async () => void pauses++, end: () => {} });
  const body = JSON.stringify({ udfMagic: '4D6172636F2072756C6573', version: '0x01', udfs });
  const request = { method: 'POST', path: '/api/v1/backup', body };
  const answer = await answerAdmin(service, request, originOf('admin', 'password'));
  return { ...answer, pauses, names };
}

test('a backup of many functions is read in parts, between which other requests run', async () => {
  const udfs = Array.from({ length: 400 }, (_, at) => udf(`f${at}`, `${at} + ${' '.repeat(1_000)} 1`));
  const { status, text, pauses, names } = await restored(udfs);
  assert.equal(status, 200, text);
  assert.deepEqual(
    names,
    udfs.map(({ identity }) => identity.name),
  );
  assert.ok(pauses >= 100, `${pauses} pauses`);
});

test('a body that no function may have is refused before it is parsed', async () => {
  const { status, text, pauses, names } = await restored([
    udf('f', `"${'x'.repeat(70_000)}"`),
    udf('g', '('),
  ]);
  assert.match(text, /"code":10103,.*a body has at most 65536 bytes/, `${status} ${text}`);
  assert.deepEqual(names, []);
  assert.ok(pauses < 10);
});
