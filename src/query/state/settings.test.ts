import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeSettings, defaultSettings, shownSettings } from './settings.ts';

test('the log level is one of the published levels, in any case', () => {
  const settings = defaultSettings(2);
  const loglevel = () => shownSettings(settings)['loglevel'];
  assert.throws(() => changeSettings(settings, { loglevel: 'loud' }), { code: 2032 });
  assert.equal(loglevel(), 'info');
  for (const level of ['debug', 'trace', 'request', 'info', 'WARN', 'error', 'severe', 'none']) {
    changeSettings(settings, { loglevel: level });
    assert.equal(loglevel(), level);
  }
});
