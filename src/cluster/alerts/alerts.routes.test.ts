import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startMailServer } from '../../../test/support/mail-server.ts';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { checkSettings, managerTarget, refusals } from '../../../test/support/settings-suite.ts';
import type { AlertSettings } from './alert-settings.ts';
import { shownAlerts } from './alerts.contract.ts';
import type { Mail, Mailer } from './mailer.ts';
import { SmtpMailer } from './smtp.adapter.ts';

const base = { enabled: 'true', recipients: 'a@b' };
const kinds = [
  'auto_failover_node',
  'auto_failover_maximum_reached',
  'auto_failover_other_nodes_down',
  'auto_failover_cluster_too_small',
];
const recipients = 'recipients must be a comma separated list of valid email addresses.';
const port = 'emailPort must be a positive integer less than 65536.';
const switchText = (name: string) => `${name} must be either true or false.`;
const otherKinds =
  'auto_failover_disabled ip disk overhead ep_oom_errors ep_item_commit_failed audit_dropped_events indexer_ram_max_usage ' +
  'ep_clock_cas_drift_threshold_exceeded communication_issue time_out_of_sync disk_usage_analyzer_stuck memory_threshold backup_task_failed';
const allKinds = [...kinds, ...otherKinds.split(' ')];
const keyText = `alerts contained invalid keys. Valid keys are: ${allKinds.join(', ')}.`;
const addresses = (count: number) => Array.from({ length: count }, (_, index) => `a${index}@b`);
const server = (name: string) => (answer: { emailServer: Record<string, unknown> }) =>
  answer.emailServer[name];
const text = (length: number) => 'x'.repeat(length);

describe('alert settings', () => {
  it('keep every parameter over restarts and refuse each wrong one by its published key', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, {
      write: '/settings/alerts',
      read: '/settings/alerts',
      base,
      refusal: refusals.fields,
      parameters: [
        {
          name: 'enabled',
          good: [
            ['true', true],
            ['false', false],
          ],
          bad: ['', '1', 'TRUE', 'true,false'].map((value) => [value, switchText('enabled')] as const),
          missing: { text: switchText('enabled') },
        },
        {
          name: 'recipients',
          good: [
            ['a@b', ['a@b']],
            [' a@b , c@[::1] ', ['a@b', 'c@[::1]']],
            [addresses(100).join(), addresses(100)],
            [`${text(252)}@b`, [`${text(252)}@b`]],
          ],
          bad: [
            '',
            'a',
            '@b',
            'a@',
            'a@b;c@d',
            'a b@c',
            'a@b\r\nBcc: x@y',
            '<a@b>',
            'a@b@c',
            'a\0@b',
            'ä\u0085@b',
            addresses(101).join(),
            `${text(253)}@b`,
          ].map((value) => [value, recipients] as const),
          missing: { text: recipients },
        },
        {
          name: 'alerts',
          good: [
            ['', []],
            ['auto_failover_node', ['auto_failover_node']],
            [[...allKinds].reverse().join(', '), allKinds],
          ],
          bad: [
            ['auto_failover_node,x', keyText],
            ['Auto_failover_node', keyText],
          ],
          missing: { reads: kinds },
        },
        {
          name: 'pop_up_alerts',
          good: [
            ['', []],
            ['disk', ['disk']],
          ],
          bad: [['discs', keyText]],
          missing: { reads: allKinds },
        },
        {
          name: 'sender',
          good: [['x@y', 'x@y']],
          bad: ['', 'x', 'a@b,c@d', 'x@y\r\nTo: z@z'].map(
            (value) => [value, 'sender must be a valid email address.'] as const,
          ),
          missing: { reads: 'divan@localhost' },
        },
        {
          name: 'emailHost',
          good: [
            ['mail.example.org', 'mail.example.org'],
            ['::1', '::1'],
            [text(253), text(253)],
          ],
          bad: ['', 'a b', 'a\nb', 'http://x/', text(254)].map(
            (value) =>
              [value, 'emailHost must be the name or address of a mail server.', 'email_host'] as const,
          ),
          missing: { reads: 'localhost' },
          find: server('host'),
        },
        {
          name: 'emailPort',
          good: [
            ['1', 1],
            ['65535', 65535],
          ],
          bad: ['0', '65536', '-1', '25.0', '', 'smtp'].map((value) => [value, port, 'email_port'] as const),
          missing: { reads: 25 },
          find: server('port'),
        },
        {
          name: 'emailEncrypt',
          good: [
            ['true', true],
            ['false', false],
          ],
          bad: ['', 'yes'].map((value) => [value, switchText('emailEncrypt'), 'email_encrypt'] as const),
          missing: { reads: false },
          find: server('encrypt'),
        },
        {
          name: 'emailUser',
          good: [
            ['', ''],
            [text(1024), text(1024)],
          ],
          bad: [text(1025), 'a\0b'].map(
            (value) => [value, 'emailUser must be a string of at most 1024 bytes.', 'email_user'] as const,
          ),
          missing: { reads: '' },
          find: server('user'),
        },
        {
          name: 'emailPass',
          good: [
            ['', ''],
            [text(1024), ''],
          ],
          bad: [[text(1025), 'emailPass must be a string of at most 1024 bytes.', 'email_pass']],
          missing: { reads: '' },
          find: server('pass'),
        },
        {
          name: 'emailPassword',
          bad: [['x', 'Unsupported paramater emailPassword was specified', 'error']],
          missing: { reads: undefined },
        },
      ],
    });
  });

  it('read as disabled on a new node', async () => {
    const { request, manager } = await aManager();
    assert.deepEqual((await request('/settings/alerts')).body, {
      recipients: ['root@localhost'],
      sender: 'divan@localhost',
      enabled: false,
      emailServer: { user: '', pass: '', host: 'localhost', port: 25, encrypt: false },
      alerts: kinds,
      pop_up_alerts: allKinds,
    });
    await manager.stop();
  });

  it('report all problems at once, and a form without usable fields', async () => {
    const { request, manager } = await aManager();
    const wrong = {
      enabled: 'x',
      recipients: 'x',
      alerts: 'x',
      sender: 'x',
      emailPort: 'x',
      emailEncrypt: 'x',
    };
    const answer = await request('/settings/alerts', { form: wrong });
    assert.deepEqual(Object.keys(answer.body.errors).sort(), [
      'alerts',
      'email_encrypt',
      'email_port',
      'enabled',
      'recipients',
      'sender',
    ]);
    const empty = await request('/settings/alerts', { method: 'POST', form: {} });
    assert.deepEqual(
      [empty.status, empty.body],
      [400, { errors: { general: 'No valid parameters given.' } }],
    );
    const validated = await request('/settings/alerts?just_validate=1', { form: { ...base, sender: 'x' } });
    assert.deepEqual(
      [validated.status, validated.body],
      [200, { errors: { sender: 'sender must be a valid email address.' } }],
    );
    assert.deepEqual((await request('/settings/alerts?just_validate=1', { form: base })).body, {
      errors: null,
    });
    assert.equal((await request('/settings/alerts')).body.enabled, false);
    await manager.stop();
  });

  it('allow no recipients only while mail is disabled', async () => {
    const { request, manager } = await aManager();
    const nobody = { enabled: 'false', recipients: '' };
    assert.equal((await request('/settings/alerts', { form: nobody })).status, 200);
    assert.deepEqual((await request('/settings/alerts')).body.recipients, []);
    await manager.stop();
  });

  it('are switched off by enabled=false alone', async () => {
    const { request, manager } = await aManager();
    await request('/settings/alerts', { form: base });
    assert.equal((await request('/settings/alerts', { form: { enabled: 'false' } })).status, 200);
    assert.equal((await request('/settings/alerts')).body.enabled, false);
    await manager.stop();
  });

  it('are shown without the password', () => {
    const settings: AlertSettings = {
      enabled: true,
      recipients: [],
      alerts: [],
      popUps: [],
      sender: 's@t',
      server: { host: 'h', port: 1, encrypt: true, user: 'u', password: 'secret' },
    };
    assert.equal(shownAlerts(settings).emailServer.pass, '');
  });

  it('keep the password encrypted', async () => {
    const { request, store, manager } = await aManager();
    await request('/settings/alerts', { form: { ...base, emailPass: 'pl4nted-secret' } });
    const stored = JSON.stringify(await store.list(''));
    assert.match(stored, /sealedPassword":"[\w+/=]{20,}/);
    assert.doesNotMatch(stored, /pl4nted/);
    await manager.stop();
  });
});

describe('a test mail', () => {
  const paths = ['/settings/alerts/testEmail', '/settings/alerts/sendTestEmail'];

  it('uses the settings in the form, which are not stored, at both paths', async (t) => {
    await using smtp = await startMailServer({ credentials: { user: 'u', password: 'p' } });
    const mailer = new SmtpMailer({ trusted: async () => [smtp.certificate] });
    const { request, manager } = await aManager({ mailer });
    t.after(() => manager.stop());
    const form = {
      ...base,
      recipients: 'a@b,c@d',
      sender: 's@t',
      subject: 'Is it there?',
      body: 'Yes.',
      emailHost: 'localhost',
      emailPort: `${smtp.port}`,
      emailEncrypt: 'true',
      emailUser: 'u',
      emailPass: 'p',
    };
    for (const path of paths) {
      const answer = await request(path, { form });
      assert.deepEqual([answer.status, answer.text], [200, '']);
    }
    assert.deepEqual(
      smtp.mails.map(({ to, user, encrypted, raw }) => [
        to,
        user,
        encrypted,
        /^Subject: Is it there\?\r$/m.test(raw),
      ]),
      paths.map(() => [['a@b', 'c@d'], 'u', true, true]),
    );
    assert.equal((await request('/settings/alerts')).body.sender, 'divan@localhost');
    const refused = await request(paths[0] as string, { form: { ...form, emailPass: 'n0t-it' } });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /^Invalid login: 535/);
    assert.doesNotMatch(refused.text, /n0t-it/);
  });

  it('is refused for a wrong form as the settings are, and without recipients', async (t) => {
    const { request, manager } = await aManager();
    t.after(() => manager.stop());
    for (const path of paths) {
      const wrong = await request(path, { form: { ...base, emailPort: '0' } });
      assert.deepEqual([wrong.status, wrong.body], [400, { errors: { email_port: port } }]);
      const nobody = await request(path, { form: { enabled: 'false', recipients: '' } });
      assert.deepEqual([nobody.status, nobody.body], [400, { error: 'there are no recipients' }]);
      const long = await request(path, { form: { ...base, subject: text(901) } });
      assert.deepEqual(long.body, { errors: { subject: 'subject is too long.' } });
      assert.equal((await request(path, { form: { ...base, subject: text(900) } })).status, 200);
    }
  });

  it('reports missing extensions of its server, although the server accepted it', async (t) => {
    const unsupported = ['no way to sign in', 'no odd names'];
    const mailer = { send: async () => ({ sent: true, refused: [], unsupported }) as const };
    const { request, manager } = await aManager({ mailer });
    t.after(() => manager.stop());
    const { status, body } = await request(paths[0] as string, { form: base });
    const error = 'the mail server accepted the mail, but offers no way to sign in, and no odd names';
    assert.deepEqual([status, body], [400, { error }]);
  });

  it('is refused while too many wait for an unresponsive server', async (t) => {
    const answers = Promise.withResolvers<{ sent: true; refused: string[]; unsupported: string[] }>();
    const { request, manager } = await aManager({ mailer: { send: () => answers.promise } });
    t.after(() => manager.stop());
    const waiting = [1, 2, 3, 4].map(() => request(paths[0] as string, { form: base }));
    const refused = await eventually(async () => {
      const answer = await request(paths[0] as string, { form: base });
      assert.equal(answer.status, 400);
      return answer;
    });
    assert.deepEqual(refused.body, { error: 'too many test mails are in progress' });
    assert.equal((await request('/settings/alerts')).status, 200);
    answers.resolve({ sent: true, refused: [], unsupported: [] });
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [200, 200, 200, 200],
    );
  });
});

describe('an alert', () => {
  const event = {
    kind: 'auto_failover_node',
    text: "Node ('n_0@h') was automatically failed over.",
  } as const;

  it('is mailed in the published form to the recipients of its kind only', async (t) => {
    const mails: Mail[] = [];
    const mailer: Mailer = {
      async send(_server, mail) {
        mails.push(mail);
        return { sent: true, refused: [], unsupported: [] };
      },
    };
    const { request, manager } = await aManager({ mailer });
    t.after(() => manager.stop());
    manager.alerts.raise(event);
    await request('/settings/alerts', { form: { ...base, alerts: 'auto_failover_maximum_reached' } });
    manager.alerts.raise(event);
    await request('/settings/alerts', { form: base });
    assert.deepEqual(mails, []);
    manager.alerts.raise(event);
    await eventually(() => assert.equal(mails.length, 1));
    assert.deepEqual(mails, [
      {
        sender: 'divan@localhost',
        recipients: ['a@b'],
        subject: 'Divan alert: auto_failover_node',
        text: event.text,
      },
    ]);
  });

  it('waits for an unreachable server, and uses settings that were corrected meanwhile', async (t) => {
    const hosts: string[] = [];
    const mailer: Mailer = {
      async send({ host }) {
        hosts.push(host);
        return host === 'right'
          ? { sent: true, refused: [], unsupported: [] }
          : { sent: false, reason: 'nxdomain', permanent: false };
      },
    };
    const { request, manager } = await aManager({ mailer });
    t.after(() => manager.stop());
    await request('/settings/alerts', { form: { ...base, emailHost: 'wrong' } });
    manager.alerts.raise(event);
    await eventually(() => assert.deepEqual(hosts, ['wrong']));
    await request('/settings/alerts', { form: { ...base, emailHost: 'right' } });
    await eventually(() => assert.deepEqual(hosts, ['wrong', 'right']));
  });
});
