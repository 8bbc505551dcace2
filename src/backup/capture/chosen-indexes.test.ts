import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChosenIndexes } from './chosen-indexes.ts';

const longest = 1 << 20;
const index = (name: string, length: number) => ({ name, definition: 'x'.repeat(length) });

test('an index whose definition is longer than a statement may be is left out, and a note names it', () => {
  const chosen = new ChosenIndexes();
  const [long, short] = [index('long', longest), index('short', 1)];
  assert.deepEqual(chosen.of('b', [long, index('longer', longest + 1), short]), [long, short]);
  assert.equal(chosen.notes.length, 1);
  assert.match(
    chosen.notes[0] as string,
    /^index "longer" of bucket "b" is left out: its definition is longer/,
  );
});

test('a backup has at most 64 MiB of definitions of indexes, of all buckets together', () => {
  const chosen = new ChosenIndexes();
  const many = Array.from({ length: 40 }, () => index('many', longest));
  assert.equal(chosen.of('a', many).length + chosen.of('b', many).length, 63);
  assert.deepEqual(chosen.of('c', [index('short', 1)]).length, 1);
});
