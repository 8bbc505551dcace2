import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseForm } from '#http/path.ts';
import { aManager } from '../../../test/support/manager.ts';
import { querySettingNames, readCurlAllowlist, readQueryForm, serviceSettings } from './query-settings.ts';

test('the form of query settings validates settings by name, and stores none if one is invalid', () => {
  const valid = readQueryForm({ queryTimeout: '5', queryUseCBO: 'false', queryCleanupWindow: '30s' });
  assert.deepEqual(valid, {
    changes: { queryTimeout: 5, queryUseCBO: false, queryCleanupWindow: '30s' },
    problems: {},
  });
  const invalid = { queryPreparedLimit: '0', queryUseCBO: 'yes', queryLogLevel: 'loud', queryTxTimeout: '5' };
  const { problems } = readQueryForm({ ...invalid, strange: '1', stranger: '2' });
  assert.deepEqual(Object.keys(problems).sort(), [...Object.keys(invalid), 'strange', 'stranger'].sort());
  for (const name of ['constructor', '__proto__'])
    assert.deepEqual(Object.entries(readQueryForm(parseForm(`${name}=1`)).problems), [
      [name, 'Unsupported key'],
    ]);
});

test('the allowlist of CURL is an object of two lists', () => {
  assert.deepEqual(readCurlAllowlist({ all_access: true }), {
    all_access: true,
    allowed_urls: [],
    disallowed_urls: [],
  });
  for (const wrong of [
    null,
    [],
    {},
    { all_access: 1 },
    { all_access: true, allowed_urls: 'x' },
    { all_access: true, x: 1 },
  ])
    assert.equal(typeof readCurlAllowlist(wrong), 'string', JSON.stringify(wrong));
});

test('the service gets every setting, and bit 0x4000 as a switch of sequential scans', () => {
  assert.equal(serviceSettings({})['sequential-scans'], true);
  assert.equal(serviceSettings({ queryN1QLFeatCtrl: 0x4000 })['sequential-scans'], false);
  assert.equal(Object.keys(serviceSettings({})).length, querySettingNames.length);
});

test('settings are read, and a request changes all settings that it names or none', async () => {
  const { request } = await aManager();
  const path = '/settings/querySettings';
  const settings = await request(path);
  assert.deepEqual([settings.body.queryTimeout, settings.body.queryCurlWhitelist.all_access], [0, false]);
  assert.equal((await request(path, { form: { queryTimeout: '7' } })).body.queryTimeout, 7);
  const refused = await request(path, { form: { queryTimeout: 'soon', queryScanCap: '5' } });
  assert.equal(refused.status, 400);
  assert.match(refused.body.errors.queryTimeout, /range/);
  const { body } = await request(path);
  assert.deepEqual([body.queryTimeout, body.queryScanCap], [7, 512]);
});
