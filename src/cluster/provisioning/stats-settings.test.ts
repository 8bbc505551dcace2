import { test } from 'node:test';
import {
  booleanValues,
  checkSettings,
  managerTarget,
  refusals,
} from '../../../test/support/settings-suite.ts';

const notBoolean = 'The value must be one of the following: [true,false]';

test('the node stores the setting sendStats', async (t) => {
  await using target = await managerTarget();
  await checkSettings(t, target, {
    write: '/settings/stats',
    read: '/settings/stats',
    refusal: refusals.fields,
    parameters: [
      { name: 'sendStats', ...booleanValues(notBoolean), missing: { text: 'The value must be supplied' } },
    ],
  });
});
