import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BucketState, differences, type SeenVersion } from './bucket-state.ts';
import { randomFrom } from './random.ts';

test('the comparison of two states finds each kind of difference', () => {
  const random = randomFrom(1);
  const version = (): SeenVersion => ({
    kind: 'mutation' as const,
    cas: BigInt(random(1e9)),
    rev: random(9) + 1,
    flags: random(9),
    expiry: 0,
    isJson: true,
    xattrs: '',
    body: '{}',
  });
  const expected: BucketState = new Map(
    Array.from({ length: 9 }, (_, n) => [`_default._default/${n}`, version()]),
  );
  const key = '_default._default/3';
  const changed = (part: Partial<SeenVersion>) => (state: BucketState) =>
    void state.set(key, { ...(state.get(key) as SeenVersion), ...part });
  const faults: Record<string, (state: BucketState) => void> = {
    'a document is missing': (state) => void state.delete(key),
    'a document is additional': (state) => void state.set('shop.c0/x', version()),
    'the document is in another collection': (state) => {
      state.set('shop.c0/3', state.get(key) as SeenVersion);
      state.delete(key);
    },
    'another value': changed({ body: '{"a":1}' }),
    'another CAS': changed({ cas: 1n }),
    'another revision': changed({ rev: 77 }),
    'other flags': changed({ flags: 77 }),
    'another expiry': changed({ expiry: 77 }),
    'other attributes': changed({ xattrs: 'x' }),
    'another datatype': changed({ isJson: false }),
    'a deletion instead': changed({ kind: 'deletion' }),
  };
  assert.deepEqual(differences(expected, new Map(expected)), []);
  for (const [name, fault] of Object.entries(faults)) {
    const found = new Map(expected);
    fault(found);
    assert.notDeepEqual(differences(expected, found), [], name);
  }
});
