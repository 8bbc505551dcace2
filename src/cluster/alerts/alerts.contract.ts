// Routes of the alert settings and of test mails.
import { type Access, defineRoute } from '#contract/route.ts';
import { alertsShape } from '../settings/settings.shapes.ts';
import type { AlertSettings } from './alert-settings.ts';

const write: Access = { kind: 'permission', permission: 'cluster.settings!write' };

export const GetAlerts = defineRoute({
  id: 'alerts.read',
  method: 'GET',
  path: '/settings/alerts',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: { json: alertsShape },
  doc: 'Who is told of which events by mail. The password of the mail server is never shown.',
});

export const ChangeAlerts = defineRoute({
  id: 'alerts.change',
  method: 'POST',
  path: '/settings/alerts',
  access: write,
  bodyKind: 'form',
  justValidate: 'own',
  doc: 'Replaces the alert settings; what is left out falls back to its default.',
});

const testDoc =
  'Sends a test mail by the settings in the form, which are not kept; answers when the mail server took it, or with what it refused or lacks.';

export const TestAlerts = defineRoute({
  id: 'alerts.test',
  method: 'POST',
  path: '/settings/alerts/testEmail',
  access: write,
  bodyKind: 'form',
  changesNothing: true,
  doc: testDoc,
});

export const SendTestAlert = defineRoute({
  ...TestAlerts,
  id: 'alerts.send_test',
  path: '/settings/alerts/sendTestEmail',
});

export function shownAlerts({ enabled, recipients, alerts, sender, server }: AlertSettings) {
  const { host, port, encrypt, user } = server;
  return { recipients, sender, enabled, emailServer: { user, pass: '', host, port, encrypt }, alerts };
}
