// Sends mail over SMTP through nodemailer, which is loaded with the first mail. This adapter creates the socket itself, so that it can close it at the
// time limit even if the server keeps the session busy.
import { Socket } from 'node:net';
import { getCACertificates } from 'node:tls';
import type { MailServer } from './alert-settings.ts';
import type { Mail, Mailer, MailOutcome } from './mailer.ts';

/** The time limit of a whole send. */
const limitMs = 15_000;
/** Shorter than `limitMs`, so that no connection is opened after the end of a send: a late name lookup fails instead. */
const lookupLimitMs = 10_000;
const implicitTlsPort = 465;
const responseBytesMax = 64 << 10;

export interface SmtpOptions {
  /** Certificates of authorities that this cluster trusts in addition to those of the machine. */
  trusted: () => Promise<readonly string[]>;
  /** For tests, which need other limits and ports. */
  limitMs?: number;
  implicitTlsPort?: number;
}

interface SmtpError extends Error {
  code?: string;
  originalCode?: string;
  permanent?: boolean;
}

export class SmtpMailer implements Mailer {
  readonly #options: SmtpOptions;

  constructor(options: SmtpOptions) {
    this.#options = options;
  }

  async send(server: MailServer, mail: Mail, signal: AbortSignal): Promise<MailOutcome> {
    const timeout = AbortSignal.timeout(this.#options.limitMs ?? limitMs);
    const socket = new Socket();
    const end = () => socket.destroy();
    const ended = AbortSignal.any([timeout, signal]);
    ended.addEventListener('abort', end, { once: true });
    try {
      ended.throwIfAborted();
      const { rejected, ehlo = [] } = await Promise.race([
        this.#deliver(server, mail, socket),
        rejectOnAbort(ended),
      ]);
      return {
        sent: true,
        refused: rejected.map(String),
        unsupported: unsupportedExtensions(server, mail, ehlo),
      };
    } catch (error) {
      const failure = timeout.aborted
        ? { reason: noAnswer(server), permanent: false }
        : failureOf(error as SmtpError, server);
      return { sent: false, ...failure, reason: withoutSecrets(failure.reason, server) };
    } finally {
      ended.removeEventListener('abort', end);
      socket.destroy();
    }
  }

  async #deliver(server: MailServer, mail: Mail, socket: Socket) {
    const { createTransport } = await import('nodemailer');
    const { host, port, encrypt, user, password } = server;
    const transport = createTransport({
      host,
      port,
      socket,
      secure: encrypt && port === (this.#options.implicitTlsPort ?? implicitTlsPort),
      // Opportunistic encryption: used if offered, and a failure does not prevent the mail.
      ...(encrypt ? { requireTLS: true } : { opportunisticTLS: true }),
      ...(user !== '' && { auth: { user, pass: password } }),
      tls: encrypt ? { ca: await this.#authorities() } : { rejectUnauthorized: false },
      dnsTimeout: lookupLimitMs,
      connectionTimeout: limitMs,
      greetingTimeout: limitMs,
      socketTimeout: limitMs,
      maxResponseSize: responseBytesMax,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return await transport.sendMail({
      from: { name: '', address: mail.sender },
      to: mail.recipients.map((address) => ({ name: '', address })),
      subject: mail.subject.replaceAll(/[\p{Cc}\s]+/gu, ' '),
      text: mail.text,
    });
  }

  async #authorities(): Promise<string[]> {
    const authorities = await this.#options.trusted();
    return [...getCACertificates('default'), ...getCACertificates('system'), ...authorities];
  }
}

/** What the mail needs and the server does not offer. The server may accept the mail nevertheless, and then only this list says what is wrong. */
function unsupportedExtensions(
  { user }: MailServer,
  { sender, recipients }: Mail,
  extensions: readonly string[],
): string[] {
  const offers = (name: string) => extensions.some((line) => line.toUpperCase().split(/[ =]/)[0] === name);
  const isBeyondAscii = [sender, ...recipients].some((address) => /[^\0-\x7f].*@/.test(address));
  return [
    ...(user !== '' && !offers('AUTH') ? ['no way to sign in (AUTH), so emailUser was not used'] : []),
    ...(isBeyondAscii && !offers('SMTPUTF8')
      ? ['no names beyond ASCII (SMTPUTF8), as an address has one']
      : []),
  ];
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** A sentence that names the server, with the word that published clients show, if any, in brackets. */
function failureOf(error: SmtpError, server: MailServer): { reason: string; permanent: boolean } {
  const { host, port } = server;
  const codes = [error.code, error.originalCode];
  const permanent = error.permanent === true && error.code !== 'EAUTH';
  if (codes.includes('ENOTFOUND') || codes.includes('EDNS'))
    return { reason: `no address is known for emailHost ${host} (nxdomain)`, permanent };
  if (codes.includes('ECONNREFUSED'))
    return { reason: `${host}:${port} refused the connection (econnrefused)`, permanent };
  if (codes.includes('ETIMEDOUT')) return { reason: noAnswer(server), permanent };
  return { reason: error.message, permanent };
}

const noAnswer = ({ host, port }: MailServer): string => `${host}:${port} did not answer in time (timeout)`;

const hidden = '********';
const shownMax = 500;
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Removes secrets from an answer of a mail server: it may repeat what it was sent, and its answers are shown and logged. */
function withoutSecrets(text: string, { user, password }: Pick<MailServer, 'user' | 'password'>): string {
  const forms = [base64(`\0${user}\0${password}`), base64(password), encodeURIComponent(password), password];
  const redacted = password === '' ? text : forms.reduce((left, form) => left.replaceAll(form, hidden), text);
  return redacted.replaceAll(/[\p{Cc}\s]+/gu, ' ').slice(0, shownMax);
}
