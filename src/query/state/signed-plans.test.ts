import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignedPlans } from './signed-plans.ts';

const plans = new SignedPlans(Buffer.alloc(32, 1));

test('a signed plan of the longest statement is verified, with any characters', () => {
  for (const character of ['a', '"', '\u0001', '日']) {
    const plan = { name: 'p', text: character.repeat(1_048_576), queryContext: '' };
    assert.deepEqual(plans.verify(plans.sign(plan)), plan);
  }
});

test('a plan that another process signed, or that was changed, is refused', () => {
  const signed = plans.sign({ name: 'p', text: 'SELECT 1', queryContext: '' });
  assert.equal(new SignedPlans(Buffer.alloc(32, 2)).verify(signed), null);
  const changed = Buffer.from(signed, 'base64');
  changed[changed.length - 1] = (changed.at(-1) as number) ^ 1;
  assert.equal(plans.verify(changed.toString('base64')), null);
  assert.equal(plans.verify(''), null);
});
