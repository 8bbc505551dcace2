import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setting } from '../settings/setting.ts';
import { settingSchema } from './setting-schema.ts';

test('the description of a setting says in sentences when and whether it takes effect', () => {
  const descriptionOf = (
    ...rest: Parameters<typeof setting> extends [string, ...infer Rest] ? Rest : never
  ) => settingSchema(setting('x', ...rest)).description;
  assert.equal(descriptionOf('1', '0–9', 'live', 'effective'), 'Accepted: 0–9. Default: 1.');
  assert.equal(
    descriptionOf('1', '0–9', 'bucket restart', 'kept', 'in bytes'),
    'Accepted: 0–9. Default: 1. A change restarts the bucket. The value is stored and has no effect. in bytes.',
  );
  assert.match(
    descriptionOf('1', '1', 'creation only', 'fixed') ?? '',
    /Cannot be changed later\. No other value is accepted\.$/,
  );
  assert.match(
    descriptionOf('1', '1', 'live', 'views') ?? '',
    /no effect: this version does not have views\.$/,
  );
});
