import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseForm } from '#http/path.ts';
import { FormReader } from './form-reader.ts';

test('the form reader refuses an unknown field that is named like a property of every object', () => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    const reader = new FormReader(parseForm(`known=1&${name}=1`));
    reader.only(['known']);
    assert.deepEqual(Object.entries(reader.problems.fields), [[name, 'Unsupported key']]);
    assert.throws(() => reader.refuseIfInvalid());
  }
});
