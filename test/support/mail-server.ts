// A real SMTP server on a free port that records received mails.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { makeCertificate } from './certificate.ts';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** The authenticated user. */
  user: string | undefined;
  encrypted: boolean;
  /** The whole received message. */
  raw: string;
}

export interface MailServerSettings {
  /** Certificate and key of the server; by default a new self-signed one. */
  pair?: { certificate: string; key: string };
  /** TLS from the first byte. Default: STARTTLS is offered. */
  implicitTls?: boolean;
  /** Offers no encryption at all. */
  plain?: boolean;
  /** Offers no authentication, and accepts ASCII names only. */
  simple?: boolean;
  /** Requires these credentials. */
  credentials?: { user: string; password: string };
  /** The reply that refuses a recipient; null: the server accepts the recipient. */
  refuse?: (recipient: string) => { code: number; text: string } | null;
  /** The refusal of a login contains the sent credentials. */
  echoesCredentials?: boolean;
}

export async function startMailServer(settings: MailServerSettings = {}) {
  const { certificate, key } = settings.pair ?? (await makeCertificate());
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    cert: certificate,
    key,
    secure: settings.implicitTls ?? false,
    logger: false,
    disableReverseLookup: true,
    authOptional: settings.credentials === undefined,
    allowInsecureAuth: true,
    disabledCommands: [
      ...(settings.plain ? (['STARTTLS'] as const) : []),
      ...(settings.simple ? (['AUTH'] as const) : []),
    ],
    hideSMTPUTF8: settings.simple ?? false,
    closeTimeout: 100,
    ...handlers(settings, mails),
  });
  server.on('error', () => {}); // clients that disconnect early
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    certificate,
    mails,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

function handlers(settings: MailServerSettings, mails: ReceivedMail[]): Partial<SMTPServerOptions> {
  return {
    onAuth({ username, password }, _session, done) {
      const wanted = settings.credentials;
      if (username === wanted?.user && password === wanted?.password) return done(null, { user: username });
      const echoed = settings.echoesCredentials ? ` for ${username} with ${password}` : '';
      done(Object.assign(new Error(`no entry${echoed}`), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, done) {
      const refusal = settings.refuse?.(address);
      done(refusal ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null);
    },
    onData(stream, session, done) {
      let raw = '';
      stream.on('data', (chunk: Buffer) => {
        raw += chunk.toString();
      });
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          user: session.user as string | undefined,
          encrypted: session.secure,
          raw,
        });
        done();
      });
    },
  };
}
