// Removes secrets from answers of a mail server: it may repeat what it was sent, and its answers are shown and logged.
import type { MailServer } from './alert-settings.ts';

const hidden = '********';
const shownMax = 500;
const base64 = (text: string) => Buffer.from(text).toString('base64');

export function withoutSecrets(
  text: string,
  { user, password }: Pick<MailServer, 'user' | 'password'>,
): string {
  const forms = [base64(`\0${user}\0${password}`), base64(password), encodeURIComponent(password), password];
  const shown = password === '' ? text : forms.reduce((left, form) => left.replaceAll(form, hidden), text);
  return shown.replaceAll(/[\p{Cc}\s]+/gu, ' ').slice(0, shownMax);
}
