import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type MailServerSettings, startMailServer } from '../../../test/support/mail-server.ts';
import type { MailServer } from './alert-settings.ts';
import { SmtpMailer } from './smtp.adapter.ts';

const credentials = { user: 'divan', password: 's3cret-of-mail' };
const mail = {
  sender: 'node@example.org',
  recipients: ['a@example.org', 'b@example.org'],
  subject: 'Divan alert: auto_failover_node',
  text: "Node ('n_0@h') was automatically failed over.",
};
const neverAborted = new AbortController().signal;

async function startServerAndMailer(t: TestContext, settings: MailServerSettings) {
  const mailServer = await startMailServer(settings);
  t.after(() => mailServer[Symbol.asyncDispose]());
  const server: MailServer = {
    host: 'localhost',
    port: mailServer.port,
    encrypt: true,
    ...(settings.credentials ?? { user: '', password: '' }),
  };
  const mailer = new SmtpMailer({ trusted: async () => [mailServer.certificate] });
  return { ...mailServer, server, mailer };
}

describe('mail over SMTP', () => {
  it('uses STARTTLS with authentication if encryption is configured', async (t) => {
    const { server, mailer, mails } = await startServerAndMailer(t, { credentials });
    assert.deepEqual(await mailer.send(server, mail, neverAborted), {
      sent: true,
      refused: [],
      unsupported: [],
    });
    const [received] = mails;
    assert.deepEqual(
      { from: received?.from, to: received?.to, user: received?.user, encrypted: received?.encrypted },
      { from: mail.sender, to: mail.recipients, user: credentials.user, encrypted: true },
    );
    assert.match(received?.raw ?? '', /^Subject: Divan alert: auto_failover_node\r$/m);
    assert.match(received?.raw ?? '', /^From: node@example\.org\r$/m);
    assert.match(received?.raw ?? '', /\r\n\r\nNode \('n_0@h'\) was automatically failed over\./);
  });

  it('uses TLS from the first byte on the port for implicit TLS', async (t) => {
    const { server, mails, certificate } = await startServerAndMailer(t, { credentials, implicitTls: true });
    const mailer = new SmtpMailer({ trusted: async () => [certificate], implicitTlsPort: server.port });
    assert.deepEqual(await mailer.send(server, mail, neverAborted), {
      sent: true,
      refused: [],
      unsupported: [],
    });
    assert.deepEqual([mails[0]?.encrypted, mails[0]?.user], [true, credentials.user]);
  });

  it('sends nothing if configured encryption is not offered', async (t) => {
    const { server, mailer, mails } = await startServerAndMailer(t, { credentials, plain: true });
    const outcome = await mailer.send(server, mail, neverAborted);
    assert.equal(outcome.sent, false);
    assert.deepEqual(mails, []);
  });

  it('sends nothing to a server with an untrusted certificate', async (t) => {
    const { server, mails } = await startServerAndMailer(t, { credentials });
    const outcome = await new SmtpMailer({ trusted: async () => [] }).send(server, mail, neverAborted);
    assert.match('reason' in outcome ? outcome.reason : '', /self-signed certificate/);
    assert.deepEqual(mails, []);
  });

  it('uses offered encryption with any certificate if none is configured', async (t) => {
    const { server, mails } = await startServerAndMailer(t, {});
    const mailer = new SmtpMailer({ trusted: async () => [] });
    assert.equal((await mailer.send({ ...server, encrypt: false }, mail, neverAborted)).sent, true);
    assert.equal(mails[0]?.encrypted, true);
  });

  it('uses plain text only if encryption is neither configured nor offered', async (t) => {
    const { server, mailer, mails } = await startServerAndMailer(t, { plain: true });
    assert.equal((await mailer.send({ ...server, encrypt: false }, mail, neverAborted)).sent, true);
    assert.equal(mails[0]?.encrypted, false);
  });

  it('reports a wrong password without secrets that the server repeats', async (t) => {
    const { server, mailer } = await startServerAndMailer(t, { credentials, echoesCredentials: true });
    const outcome = await mailer.send({ ...server, password: 'wrong-s3cret' }, mail, neverAborted);
    assert.deepEqual(outcome, {
      sent: false,
      permanent: false,
      reason: 'Invalid login: 535 no entry for divan with ********',
    });
  });

  it('reports missing extensions of a server that accepted the mail', async (t) => {
    const nonAscii = { ...mail, sender: 'nœud@example.org', recipients: ['a@exämple.org', 'é@example.org'] };
    const offering = await startServerAndMailer(t, { credentials });
    assert.deepEqual(await offering.mailer.send(offering.server, nonAscii, neverAborted), {
      sent: true,
      refused: [],
      unsupported: [],
    });
    const simple = await startServerAndMailer(t, { simple: true });
    const server = { ...simple.server, ...credentials };
    assert.deepEqual(await simple.mailer.send(server, nonAscii, neverAborted), {
      sent: true,
      refused: [],
      unsupported: [
        'no way to sign in (AUTH), so emailUser was not used',
        'no names beyond ASCII (SMTPUTF8), as an address has one',
      ],
    });
    assert.equal(simple.mails[0]?.to.length, 2);
    const ascii = await simple.mailer.send(simple.server, mail, neverAborted);
    assert.deepEqual(ascii, { sent: true, refused: [], unsupported: [] });
  });

  it('reports an unreachable server', async (t) => {
    const { server, mailer } = await startServerAndMailer(t, {});
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((done) => closed.close(done));
    const refused = { ...server, host: '127.0.0.1', port };
    assert.deepEqual(await mailer.send(refused, mail, neverAborted), {
      sent: false,
      reason: `127.0.0.1:${port} refused the connection (econnrefused)`,
      permanent: false,
    });
  });

  it('fails after the time limit for a server that never answers, and for one that never finishes', async (t) => {
    const behaviours = [
      () => {},
      (socket: NodeJS.WritableStream) => {
        const endlessGreeting = setInterval(() => socket.write('220-wait\r\n'), 20);
        socket.on('close', () => clearInterval(endlessGreeting));
        socket.on('error', () => {});
      },
    ];
    for (const onConnection of behaviours) {
      const listener = createServer(onConnection).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      t.after(() => listener.close());
      const { port } = listener.address() as AddressInfo;
      const mailer = new SmtpMailer({ trusted: async () => [], limitMs: 200 });
      const server = { host: '127.0.0.1', port, encrypt: false, user: '', password: '' };
      assert.deepEqual(await mailer.send(server, mail, neverAborted), {
        sent: false,
        reason: `${server.host}:${port} did not answer in time (timeout)`,
        permanent: false,
      });
    }
  });

  it('reports refused recipients, and whether a retry could succeed', async (t) => {
    const refuse = (to: string) =>
      to.startsWith('b')
        ? { code: 550, text: 'no such user' }
        : to.startsWith('c')
          ? { code: 450, text: 'later' }
          : null;
    const { server, mailer, mails } = await startServerAndMailer(t, { refuse });
    assert.deepEqual(await mailer.send(server, mail, neverAborted), {
      sent: true,
      refused: ['b@example.org'],
      unsupported: [],
    });
    assert.deepEqual(mails[0]?.to, ['a@example.org']);
    for (const [recipient, permanent] of [
      ['b@example.org', true],
      ['c@example.org', false],
    ] as const) {
      const outcome = await mailer.send(server, { ...mail, recipients: [recipient] }, neverAborted);
      assert.equal('permanent' in outcome && outcome.permanent, permanent, recipient);
    }
  });

  it('adds no headers or commands that a subject or text contains', async (t) => {
    const { server, mailer, mails } = await startServerAndMailer(t, {});
    const subject = 'one\r\nBcc: victim@example.org\r\n\r\nbody\0';
    const text = 'x\r\n.\r\nMAIL FROM:<evil@example.org>\r\n';
    assert.equal((await mailer.send(server, { ...mail, subject, text }, neverAborted)).sent, true);
    assert.equal(mails.length, 1);
    const head = mails[0]?.raw.split('\r\n\r\n')[0] ?? '';
    assert.deepEqual(head.match(/^[\w-]+(?=:)/gm)?.sort(), [
      'Content-Transfer-Encoding',
      'Content-Type',
      'Date',
      'From',
      'MIME-Version',
      'Message-ID',
      'Subject',
      'To',
    ]);
    assert.match(head, /^Subject: one Bcc: victim@example\.org body/m);
    assert.deepEqual(mails[0]?.to, mail.recipients);
  });

  it('stops when the node stops', async (t) => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const stopping = new AbortController();
    const { port } = silent.address() as AddressInfo;
    const server = { host: '127.0.0.1', port, encrypt: false, user: '', password: '' };
    const sending = new SmtpMailer({ trusted: async () => [] }).send(server, mail, stopping.signal);
    stopping.abort(new Error('the node stops'));
    const outcome = await sending;
    assert.equal('reason' in outcome && outcome.reason, 'the node stops');
  });
});
