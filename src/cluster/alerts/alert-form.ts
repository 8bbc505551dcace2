// The form of the alert settings and of test mails. A change replaces all settings. `enabled` is required, and so is `recipients` for mails; another
// field that is omitted gets its default.
import type { Form } from '#contract/route.ts';
import { Problems } from '../forms/problems.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import { type AlertKind, type AlertSettings, alertKinds, defaultAlertSettings } from './alert-settings.ts';

const settingNames = [
  'enabled',
  'recipients',
  'alerts',
  'pop_up_alerts',
  'sender',
  'emailHost',
  'emailPort',
  'emailEncrypt',
  'emailUser',
  'emailPass',
] as const;

const recipientsMax = 100;
const addressBytesMax = 254;
const hostBytesMax = 253;
const credentialBytesMax = 1024;
const subjectBytesMax = 900;

/** Keeps blanks, control and special characters out of headers and commands sent to the mail server. */
const address = /^[^\s\p{Cc}@<>()[\],;:\\"]+@([^\s\p{Cc}@<>()[\],;:\\"]+|\[[\w.:]+\])$/u;
const host = /^[\w.:-]*$/;

export function readAlertForm(form: Form, otherNames: readonly string[] = []): AlertSettings {
  const { settings, problems } = parseAlertForm(form, otherNames);
  problems.refuseIfInvalid();
  return settings;
}

/** `otherNames`: fields that the form may contain besides the settings. */
export function parseAlertForm(
  form: Form,
  otherNames: readonly string[] = [],
): { settings: AlertSettings; problems: Problems } {
  const problems = new Problems();
  if (!settingNames.some((name) => form[name] !== undefined))
    problems.add('general', 'No valid parameters given.');
  for (const name of Object.keys(form)) {
    if (!(settingNames as readonly string[]).includes(name) && !otherNames.includes(name))
      // The published text, with its misspelling.
      problems.add('error', `Unsupported paramater ${name.slice(0, 100)} was specified`);
  }
  if ('general' in problems.fields) return { settings: defaultAlertSettings, problems };
  const enabled = readEnabled(form, problems);
  const settings = {
    enabled,
    recipients: readRecipients(form, enabled, problems),
    alerts: readKinds(form, 'alerts', defaultAlertSettings.alerts, problems),
    popUps: readKinds(form, 'pop_up_alerts', defaultAlertSettings.popUps, problems),
    sender: readSender(form, problems),
    server: readServer(form, problems),
  };
  return { settings, problems };
}

function readEnabled(form: Form, problems: Problems): boolean {
  const sent = form['enabled'];
  if (sent !== 'true' && sent !== 'false') problems.add('enabled', 'enabled must be either true or false.');
  return sent === 'true';
}

/** The list may be empty or missing while mail is disabled: alerts can always be switched off. */
function readRecipients(form: Form, enabled: boolean, problems: Problems): string[] {
  const sent = form['recipients'];
  if (sent === undefined && !enabled) return defaultAlertSettings.recipients;
  const recipients = commaSeparated(sent ?? '');
  const mayBeEmpty = !enabled;
  if (
    (recipients.length === 0 && !mayBeEmpty) ||
    recipients.length > recipientsMax ||
    !recipients.every(isAddress)
  )
    problems.add('recipients', 'recipients must be a comma separated list of valid email addresses.');
  return recipients;
}

function readKinds(form: Form, name: string, defaultKinds: AlertKind[], problems: Problems): AlertKind[] {
  const sent = form[name];
  if (sent === undefined) return defaultKinds;
  const names = commaSeparated(sent);
  const kinds = alertKinds.filter((kind) => names.includes(kind));
  if (kinds.length < new Set(names).size)
    problems.add(name, `alerts contained invalid keys. Valid keys are: ${alertKinds.join(', ')}.`);
  return kinds;
}

function readSender(form: Form, problems: Problems): string {
  const sender = form['sender']?.trim() ?? defaultAlertSettings.sender;
  if (!isAddress(sender)) problems.add('sender', 'sender must be a valid email address.');
  return sender;
}

function readServer(form: Form, problems: Problems): AlertSettings['server'] {
  const { server } = defaultAlertSettings;
  const name = form['emailHost']?.trim() ?? server.host;
  if (name === '' || !host.test(name) || name.length > hostBytesMax)
    problems.add('email_host', 'emailHost must be the name or address of a mail server.');
  const encrypt = form['emailEncrypt'] ?? 'false';
  if (encrypt !== 'true' && encrypt !== 'false')
    problems.add('email_encrypt', 'emailEncrypt must be either true or false.');
  return {
    host: name,
    port: readPort(form['emailPort'], problems),
    encrypt: encrypt === 'true',
    user: readCredential(form, 'emailUser', 'email_user', problems),
    password: readCredential(form, 'emailPass', 'email_pass', problems),
  };
}

function readPort(sent: string | undefined, problems: Problems): number {
  if (sent === undefined) return defaultAlertSettings.server.port;
  const port = /^\s*\+?\d{1,9}\s*$/.test(sent) ? Number(sent) : 0;
  if (port < 1 || port > 65535)
    problems.add('email_port', 'emailPort must be a positive integer less than 65536.');
  return port;
}

function readCredential(form: Form, name: string, key: string, problems: Problems): string {
  const sent = form[name] ?? '';
  if (Buffer.byteLength(sent) > credentialBytesMax || sent.includes('\0'))
    problems.add(key, `${name} must be a string of at most ${credentialBytesMax} bytes.`);
  return sent;
}

const commaSeparated = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const isAddress = (text: string): boolean => Buffer.byteLength(text) <= addressBytesMax && address.test(text);

/** The subject and the text of a test mail; both have a default. */
export function readTestMail(form: Form): { subject: string; text: string } {
  const subject = form['subject'] ?? 'Test email from Divan';
  if (Buffer.byteLength(subject) > subjectBytesMax) throw settingsRefusals.longSubject();
  const text = form['body'] ?? 'This is a test mail: alerts will reach you.';
  return { subject, text };
}
