import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { printedSeed, seedOf } from './seed.ts';

test('takes a seed by its one name, prints it so that it can be set, and refuses one that is none', () => {
  assert.equal(seedOf('17', 5), 17);
  assert.equal(seedOf(undefined, 5), 5);
  for (const wrong of ['x', '-1', '1.5', '2147483648']) assert.throws(() => seedOf(wrong, 5), /DIVAN_SEED/);
  const lines: string[] = [];
  const seed = printedSeed((line) => lines.push(line));
  assert.deepEqual(lines, [`DIVAN_SEED=${seed}`]);
});

test('is what every randomised test goes by', () => {
  const own = ['test/support/seed.ts', 'test/support/seed.test.ts'];
  const files = [...globSync('src/**/*.test.ts'), ...globSync('test/**/*.ts')].filter(
    (path) => !own.includes(path.replaceAll('\\', '/')),
  );
  assert.ok(files.length > 300, `${files.length} files`);
  const random = /Math\.random\(|process\.env(\.|\[')(DIVAN_TEST_)?SEED\b|process\.hrtime\(\)\[1\]/;
  const property = /\bfc\.assert\(/;
  for (const path of files) {
    const text = readFileSync(path, 'utf8');
    assert.doesNotMatch(text, random, path);
    if (property.test(text)) assert.match(text, /\bseed\b/i, `${path}: properties without a printed seed`);
  }
});
