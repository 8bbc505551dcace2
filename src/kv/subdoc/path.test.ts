import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aSeed, randomBytes } from '../../../test/support/random.ts';
import { levelsMax, type PathComponent, parsePath, pathBytesMax } from './path.ts';

/** Names as text and indexes as numbers, or the status of a refused path. */
function parsed(path: string | Buffer): (string | number)[] | number {
  const components: PathComponent[] = [];
  const status = parsePath(Buffer.from(path as string), components);
  if (status !== Status.success) return status;
  return components.map(({ name, index }) => name?.toString() ?? index);
}

test('a path has names, indexes, and names between back-ticks', () => {
  const paths: [string, (string | number)[]][] = [
    ['', []],
    ['a', ['a']],
    ['a.b', ['a', 'b']],
    ['a.b.', ['a', 'b']],
    ['a[0]', ['a', 0]],
    ['[12]', [12]],
    ['[-1]', [-1]],
    ['[0][1].x[-1].y', [0, 1, 'x', -1, 'y']],
    ['`a.b`.c', ['a.b', 'c']],
    ['`a[0]`', ['a[0]']],
    ['`a``b`', ['a`b']],
    ['a``b', ['a`b']],
    ['x`.`y', ['x.y']],
    ['`a b`[3]', ['a b', 3]],
    ['a b', ['a b']],
    ['é.€', ['é', '€']],
    ['a\\"b', ['a\\"b']],
    ['a\\\\b', ['a\\\\b']],
    ['-1', ['-1']],
    ['0', ['0']],
  ];
  for (const [path, components] of paths) assert.deepEqual(parsed(path), components, path);
});

test('malformed paths are refused', () => {
  const paths = [
    '.',
    '.a',
    'a..b',
    'a[',
    'a[0',
    'a]',
    'a[]',
    'a[x]',
    'a[-2]',
    'a[1.5]',
    'a[ 1]',
    'a[0]b',
    'a[0]..b',
  ];
  paths.push(
    '`a',
    'a`',
    '``',
    'a"b',
    'a\\',
    'a\\xb',
    'a\\u0041',
    'a\nb',
    'a\0',
    'a[9999999999999999]',
    '[+1]',
    '`a\\`',
  );
  for (const path of paths) assert.equal(parsed(path), Status.subdocPathInvalid, path);
  assert.equal(parsed(Buffer.from('61ff', 'hex')), Status.subdocPathInvalid);
  assert.equal(parsed('a'.repeat(pathBytesMax + 1)), Status.subdocPathInvalid);
  assert.deepEqual(parsed('a'.repeat(pathBytesMax)), ['a'.repeat(pathBytesMax)]);
});

test('a path with more components than there are levels below the root is refused', () => {
  const path = (count: number) => Array(count).fill('a').join('.');
  assert.equal((parsed(path(levelsMax - 1)) as string[]).length, levelsMax - 1);
  assert.equal(parsed(path(levelsMax)), Status.subdocPathTooBig);
  assert.equal(parsed('[0]'.repeat(levelsMax)), Status.subdocPathTooBig);
});

test('random bytes and truncated paths cause no exception', (t) => {
  const random = aSeed(t);
  const alphabet = Buffer.from('ab.[]0-1`"\\é');
  for (let round = 0; round < 20_000; round++) {
    const bytes = randomBytes(random, random(12)).map((b) =>
      random(4) ? (alphabet[b % alphabet.length] as number) : b,
    );
    const result = parsed(Buffer.from(bytes));
    assert.ok(Array.isArray(result) || result === Status.subdocPathInvalid);
  }
  const path = '`a.b`[0].c``d[-1].e\\"f';
  for (let end = 0; end <= path.length; end++) parsed(path.slice(0, end));
});
