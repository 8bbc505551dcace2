import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { defaultAlertSettings } from './alert-settings.ts';
import { AlertsService } from './alerts.service.ts';
import type { AlertsStore } from './alerts.store.ts';

test('a mail is recorded for the recipients that the server accepted', async () => {
  const settings = {
    ...defaultAlertSettings,
    enabled: true,
    recipients: ['a@b', 'gone@b', 'c@b'],
    alerts: ['disk'] as const,
  };
  const mailed = Promise.withResolvers<readonly string[]>();
  const alerts = new AlertsService({
    store: { read: async () => settings } as unknown as AlertsStore,
    mailer: { send: async () => ({ sent: true, refused: ['gone@b'], unsupported: [] }) },
    mailed: (_event, recipients) => mailed.resolve(recipients),
    lost: () => {},
    clock: new ManualClock(),
    log: silentLog,
  });
  alerts.raise({ kind: 'disk', text: 'full' });
  assert.deepEqual(await mailed.promise, ['a@b', 'c@b']);
  await alerts.stop();
});
