// The pages Security, Settings and Events: groups, certificates, audit log, alerts by mail, compaction, logs of the nodes.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertAccessible, goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { needs } from '../../support/needs.ts';
import { NodeProcess } from '../../support/node-process.ts';

describe('the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let node: NodeProcess;
  before(async () => {
    browser = await launchBrowser();
    node = await NodeProcess.start({ args: ['--bucket', 'travel'] });
  });
  after(async () => {
    await browser?.close();
    await node?.[Symbol.asyncDispose]();
  });

  it('creates a group, and a user with its roles', async () => {
    await using opened = await at('Security');
    const { page, problems } = opened;
    const groups = page.getByRole('region', { name: 'Groups' }).first();
    await groups.getByRole('button', { name: 'Create group' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Group', { exact: true }).fill('readers');
    await dialog.getByLabel('Description').fill('People who read');
    await dialog.getByLabel('Role', { exact: true }).selectOption('data_reader');
    await dialog.getByLabel('For', { exact: true }).fill('nothing');
    await dialog.getByRole('button', { name: 'Add role' }).click();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await dialog.locator('.problem').waitFor();
    await assertAccessible(page, 'create a group');
    await dialog.getByRole('button', { name: 'Remove data_reader[nothing]' }).click();
    await dialog.getByLabel('For', { exact: true }).fill('travel');
    await dialog.getByRole('button', { name: 'Add role' }).click();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await groups.getByRole('rowheader', { name: 'readers' }).waitFor();

    await page.getByRole('button', { name: 'Create user' }).click();
    await dialog.getByLabel('User', { exact: true }).fill('ann');
    await dialog.getByLabel('Password').fill('ann-password');
    await dialog.getByLabel('readers: People who read').check();
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'Edit ann' }).click();
    await dialog.getByLabel('Full name').fill('Ann');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'Ann', exact: true }).waitFor();
    const stored = await json<{ roles: { origins: object[] }[]; groups: string[] }>(
      '/settings/rbac/users/local/ann',
    );
    assert.deepEqual(stored.groups, ['readers']);
    assert.deepEqual(
      stored.roles.map(({ origins }) => origins),
      [[{ type: 'group', name: 'readers' }]],
      'a role of the group does not become one of the user',
    );

    await groups.getByRole('button', { name: 'Delete readers' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('readers');
    await dialog.getByRole('button', { name: 'Delete group' }).click();
    await groups.getByText('There are no groups.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('shows certificates, why one cannot be loaded, generates them anew, and switches login with client certificates on', async () => {
    await using opened = await at('Security');
    const { page, problems } = opened;
    const section = page.getByRole('region', { name: 'Certificates', exact: true });
    await section.getByRole('rowheader', { name: /^CN=/ }).waitFor();
    await section.getByRole('button', { name: 'Load the certificate of this node' }).click();
    await section.getByRole('alert').locator('p').first().waitFor();
    const before = await certificate();
    await section.getByRole('button', { name: 'Generate all anew' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('regenerate');
    await dialog.getByRole('button', { name: 'Generate', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.notEqual(await certificate(), before);

    const login = page.getByRole('region', { name: 'Login with client certificates' });
    await login.getByLabel('Client certificates').selectOption('enable');
    await login.getByLabel('Text before the name').fill('app-');
    await login.getByRole('button', { name: 'Save' }).click();
    await login.getByText('Saved.').waitFor();
    assert.deepEqual(await json('/settings/clientCertAuth'), {
      state: 'enable',
      prefixes: [{ path: 'subject.cn', prefix: 'app-', delimiter: '' }],
    });
    assert.deepEqual(problems, []);
  });

  it('switches the audit log on, and leaves events out of it', async () => {
    await using opened = await at('Security');
    const { page } = opened;
    const section = page.getByRole('region', { name: 'Audit log' });
    await section.getByLabel('Write an audit log').check();
    await section.getByLabel('New file after minutes').fill('1');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.locator('.problem').waitFor();
    await section.getByLabel('New file after minutes').fill('60');
    await section.getByText('Events in the log').click();
    await section.getByLabel('mutate document').uncheck();
    await assertAccessible(page, 'audit');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('Saved.').waitFor();
    const mutateDocument = 8243;
    const audit = await json<{ auditdEnabled: boolean; rotateInterval: number; disabled: number[] }>(
      '/settings/audit',
    );
    assert.deepEqual(
      [audit.auditdEnabled, audit.rotateInterval, audit.disabled.includes(mutateDocument)],
      [true, 3600, true],
    );
  });

  it('sends a test mail, and saves the settings of alerts', async () => {
    await using server = await startMailServer();
    await using opened = await at('Settings');
    const { page } = opened;
    const section = page.getByRole('region', { name: 'Alerts by mail' });
    await section.getByLabel('Send alerts by mail').check();
    await section.getByLabel('Recipients').fill('not an address');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.locator('.problem').waitFor();
    await section.getByLabel('Recipients').fill('ops@example.com');
    await section.getByLabel('Mail server', { exact: true }).fill('127.0.0.1');
    await section.getByLabel('Port of the mail server').fill(String(server.port));
    await section.getByRole('button', { name: 'Send a test mail' }).click();
    await section.getByText('The mail server has accepted the mail.').waitFor();
    assert.match(server.mails[0]?.raw ?? '', /Test mail from Divan/);
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('Saved.').waitFor();
    const { enabled, recipients, alerts } = await json<{
      enabled: boolean;
      recipients: string[];
      alerts: string[];
    }>('/settings/alerts');
    assert.deepEqual([enabled, recipients], [true, ['ops@example.com']]);
    assert.ok(alerts.includes('auto_failover_node'));
  });

  it('keeps the time of day of compaction when another compaction setting changes', async () => {
    await using opened = await at('Settings');
    const { page } = opened;
    const section = page.getByRole('region', { name: 'Compaction' });
    await section.getByLabel('Only at a time of the day').check();
    await section.getByLabel('From', { exact: true }).fill('01:30');
    await section.getByLabel('To', { exact: true }).fill('04:00');
    await section.getByLabel('unused size').fill('64');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('Saved.').waitFor();
    await page.reload();
    await section.getByLabel('unused size').fill('');
    await section.getByRole('button', { name: 'Save' }).click();
    await section.getByText('Saved.').waitFor();
    const { autoCompactionSettings: stored } = await json<{
      autoCompactionSettings: { allowedTimePeriod: object; databaseFragmentationThreshold: object };
    }>('/settings/autoCompaction');
    assert.deepEqual(stored.allowedTimePeriod, {
      fromHour: 1,
      fromMinute: 30,
      toHour: 4,
      toMinute: 0,
      abortOutside: false,
    });
    const defaultPercentage = 30;
    assert.deepEqual(stored.databaseFragmentationThreshold, {
      percentage: defaultPercentage,
      size: 'undefined',
    });
  });

  it('collects the logs of the nodes', async () => {
    await using opened = await at('Events');
    const { page, problems } = opened;
    await page.getByRole('button', { name: 'Collect logs' }).click();
    await page.getByText(/: collected, in .*\.zip there$/).waitFor();
    assert.deepEqual(problems, []);
  });

  async function json<T>(path: string): Promise<T> {
    return (await (await node.request(path)).json()) as T;
  }

  const certificate = async () => await (await node.request('/pools/default/certificate')).text();

  async function at(title: string) {
    const opened = await openPage(browser, node.ready.node.rest);
    await signIn(opened.page);
    await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await goTo(opened.page, title);
    return opened;
  }
});
