// Routes of the alert settings and of test mails.
import { field, filledForm, openForm } from '#contract/fields.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { alertLimitsShape, alertsShape } from '../settings/settings.shapes.ts';
import type { AlertSettings } from './alert-settings.ts';

const write: Access = { kind: 'permission', permission: 'cluster.settings!write' };

export const GetAlerts = defineRoute({
  id: 'alerts.read',
  method: 'GET',
  path: '/settings/alerts',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: { json: alertsShape },
  doc: 'Recipients and kinds of alert mails. The password of the mail server is never shown.',
});

export const ChangeAlerts = defineRoute({
  id: 'alerts.change',
  method: 'POST',
  path: '/settings/alerts',
  access: write,
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  doc: 'Replaces the alert settings; omitted fields get their defaults.',
});

const testDoc =
  'Sends a test mail by the settings in the form, which are not stored; answers after the mail server accepted the mail, or with the reason why it did not.';

export const TestAlerts = defineRoute({
  id: 'alerts.test',
  method: 'POST',
  path: '/settings/alerts/testEmail',
  access: write,
  bodyKind: 'form',
  changesNothing: true,
  doc: testDoc,
});

/** A test mail has two published paths. */
export const SendTestAlert = defineRoute({
  ...TestAlerts,
  id: 'alerts.send_test',
  path: '/settings/alerts/sendTestEmail',
});

const percent = field.integer(0, 100).optional();
const threshold = field.integer(-1, 100).optional();

export const GetAlertLimits = defineRoute({
  id: 'alerts.read_limits',
  method: 'GET',
  path: '/settings/alerts/limits',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: { json: alertLimitsShape },
  doc: 'The percentages from which alerts are raised.',
});

export const ChangeAlertLimits = defineRoute({
  id: 'alerts.change_limits',
  method: 'POST',
  path: '/settings/alerts/limits',
  access: write,
  bodyKind: 'form',
  body: filledForm({
    maxOverheadPerc: percent,
    maxDiskUsedPerc: percent,
    maxIndexerRamPerc: percent,
    memoryNoticeThreshold: threshold,
    memoryWarningThreshold: threshold,
    memoryCriticalThreshold: threshold,
  }),
  acceptsJustValidate: true,
  answer: { json: alertLimitsShape },
  doc: 'Changes the percentages that are sent; -1 disables a memory threshold.',
});

export const ResetAlerts = defineRoute({
  id: 'alerts.reset',
  method: 'POST',
  path: '/controller/resetAlerts',
  access: write,
  query: openForm({ token: field.text().optional() }),
  bodyKind: 'form',
  doc: 'Removes acknowledged alerts from the list of `/pools/default` on all nodes; its `alertsSilenceURL` has the token. An alert whose cause persists is raised again.',
});

export function shownAlerts({ enabled, recipients, alerts, popUps, sender, server }: AlertSettings) {
  const { host, port, encrypt, user } = server;
  const emailServer = { user, pass: '', host, port, encrypt };
  return { recipients, sender, enabled, emailServer, alerts, pop_up_alerts: popUps };
}
