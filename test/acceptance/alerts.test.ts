// Mails of a real node over an encrypted connection, and mail settings after kill -9.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startMailServer } from '../support/mail-server.ts';
import { NodeProcess } from '../support/node-process.ts';
import { fillInbox, OpensslAuthority } from '../support/openssl.ts';

test('mails over STARTTLS with a login once the certificate authority of the server is trusted, and keeps the settings after kill -9', async () => {
  using authority = new OpensslAuthority();
  const pair = authority.issue('/CN=localhost', { names: 'DNS:localhost,IP:127.0.0.1' });
  await using smtp = await startMailServer({ pair, credentials: { user: 'divan', password: 'mail-s3cret' } });
  await using node = await NodeProcess.start();
  const form = {
    enabled: 'true',
    recipients: 'ops@example.org,oncall@example.org',
    sender: 'divan@example.org',
    emailHost: 'localhost',
    emailPort: `${smtp.port}`,
    emailEncrypt: 'true',
    emailUser: 'divan',
    emailPass: 'mail-s3cret',
  };
  const send = (fields: Record<string, string>) => node.request('/settings/alerts/testEmail', 'POST', fields);

  const untrusted = await send(form);
  assert.equal(untrusted.status, 400);
  assert.match(((await untrusted.json()) as { error: string }).error, /certificate/);
  assert.equal(smtp.mails.length, 0);

  fillInbox(join(node.dataDir, 'inbox'), { 'CA/mail.pem': authority.certificate });
  assert.equal((await node.request('/node/controller/loadTrustedCAs', 'POST')).status, 200);
  const sent = await send({ ...form, subject: 'From a real node' });
  assert.equal(sent.status, 200, await sent.text());
  const [mail] = smtp.mails;
  assert.deepEqual(
    [mail?.to, mail?.user, mail?.encrypted],
    [['ops@example.org', 'oncall@example.org'], 'divan', true],
  );
  assert.match(mail?.raw ?? '', /^Subject: From a real node\r$/m);

  const wrong = await send({ ...form, emailPass: 'not-it' });
  assert.match(await wrong.text(), /^\{"error":"Invalid login: 535/);

  assert.equal((await node.request('/settings/alerts', 'POST', form)).status, 200);
  await node.stop('SIGKILL');
  await using again = await NodeProcess.start({ dataDir: node.dataDir });
  const read = (await (await again.request('/settings/alerts')).json()) as { emailServer: unknown };
  assert.deepEqual(read.emailServer, {
    user: 'divan',
    pass: '',
    host: 'localhost',
    port: smtp.port,
    encrypt: true,
  });
});
