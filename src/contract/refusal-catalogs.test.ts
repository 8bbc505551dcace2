import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { allRefusals } from '../../tools/docs-errors.ts';
import { defineRefusals } from './refusal.ts';

const sources = globSync('src/**/*.ts').filter((file) => !/\.(test|refusals)\.ts$/.test(file));
const usedRefusals = new Set(
  sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\b(\w+Refusals\.\w+)/g)].map(([name]) => name),
  ),
);

test('the code uses every refusal of the catalogs, and no other', async () => {
  const modules = await Promise.all(
    globSync('src/**/*.refusals.ts').map((file) => import(`../../${file}`) as Promise<object>),
  );
  const declared = modules
    .flatMap((module) => Object.entries(module as Record<string, Record<string, unknown>>))
    .flatMap(([catalog, entries]) => Object.keys(entries).map((name) => `${catalog}.${name}`));
  assert.ok(declared.length > 100);
  assert.deepEqual([...usedRefusals].sort(), declared.sort());
});

test('every refusal has a unique name and an error status, and the reference page lists it', async () => {
  const page = readFileSync('docs/reference/errors.md', 'utf8');
  const refusals = await allRefusals();
  assert.equal(new Set(refusals.map(({ id }) => id)).size, refusals.length);
  for (const { id, declaration } of refusals) {
    const { status = 400 } = declaration;
    assert.ok(status >= 400 && status < 600, id);
    assert.ok(page.includes(`| ${id} | ${status} |`), id);
  }
});

test('the catalog puts parameters into the text of a refusal in its declared form, and keeps the braces in their values', () => {
  const refusals = defineRefusals('test', {
    gone: { status: 404, as: 'fields', text: 'Scope "{scope}" of {bucket} is gone' },
    wrong: { as: 'bare', field: 'timeout', text: 'at most {max}' },
    lines: { as: 'text' },
    code: { as: 'code', error: 'bad_request', text: '{reason}' },
  });
  const refusal = refusals.gone({ scope: '{bucket}', bucket: 'b' });
  assert.deepEqual(
    [refusal.status, refusal.body],
    [404, { kind: 'fields', fields: { _: 'Scope "{bucket}" of b is gone' } }],
  );
  assert.deepEqual(refusals.wrong({ max: 3 }).body, { kind: 'bare', fields: { timeout: 'at most 3' } });
  assert.deepEqual(refusals.lines(['a', 'b']).body, { kind: 'text', text: 'a\nb\n' });
  assert.deepEqual(refusals.code({ reason: 'no' }).body, {
    kind: 'json',
    value: { error: 'bad_request', reason: 'no' },
  });
});
