import { test } from 'node:test';
import { checkSettings, managerTarget, refusals } from '../../../test/support/settings-suite.ts';

const boolean = 'The value must be one of the following: [true,false]';
const switched = {
  good: [
    ['true', true],
    ['false', false],
  ],
  bad: [
    ['', boolean],
    ['1', boolean],
    ['True', boolean],
  ],
} as const;

test('stores whether statistics may be shared', async (t) => {
  await using target = await managerTarget();
  await checkSettings(t, target, {
    ...{ write: '/settings/stats', read: '/settings/stats', refusal: refusals.fields },
    parameters: [{ name: 'sendStats', ...switched, missing: { text: 'The value must be supplied' } }],
  });
});
