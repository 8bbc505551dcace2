// Changes of a cluster and of what it contains through the console of the cloud, with a problem at its field for each form.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { aCluster, type CloudCluster } from '../../support/cloud-cluster.ts';
import { CloudProcess } from '../../support/cloud-process.ts';
import { goToPart, launchBrowser, openPage, signInToCloud } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';

const password = 'correct-Horse-7';

describe('a cluster in the console of the cloud', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let cloud: CloudProcess;
  let cluster: CloudCluster;
  before(async () => {
    browser = await launchBrowser();
    cloud = await CloudProcess.start();
    cluster = await aCluster(cloud, { isOpen: false });
  });
  after(async () => {
    await browser?.close();
    await cloud?.[Symbol.asyncDispose]();
  });

  const open = async (part: string) => {
    const opened = await openPage(browser, cloud.ready.api);
    await signInToCloud(opened.page, cloud.ready.token);
    await opened.page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor();
    await opened.page.goto(`${cloud.ready.api}/#/cluster/${cluster.id}`);
    await goToPart(opened.page, part);
    return { ...opened, dialog: opened.page.getByRole('dialog') };
  };

  it('is created in a cloud of the organization, gets more nodes and another name', async () => {
    await using opened = await open('Overview');
    const { page, dialog, problems } = opened;
    await page.goto(`${cloud.ready.api}/#/clusters`);
    await press(page, 'Create cluster');
    const name = dialog.getByLabel('Cluster name');
    await name.fill('x');
    await dialog.getByLabel('Environment').selectOption({ index: 1 });
    await press(dialog, 'Create');
    await assertProblem(dialog, name, 'must have 2 to 128 characters');
    await name.fill('growing');
    const nodes = dialog.getByLabel('Number of nodes');
    await nodes.fill('28');
    await press(dialog, 'Create');
    await assertProblem(dialog, nodes, 'must be a whole number from 1 to 27');
    await nodes.fill('1');
    for (const service of ['index', 'query']) await dialog.getByLabel(service).uncheck();
    await press(dialog, 'Create');
    await page.getByText('Creation of the cluster: done').waitFor();

    await press(page, 'Change nodes');
    await dialog.getByLabel('Number of nodes').fill('2');
    await press(dialog, 'Change');
    await page.getByText('Change of the nodes: done').waitFor();
    const health = page.getByRole('region', { name: 'Health of the nodes' });
    await health.getByRole('row').nth(2).waitFor();
    assert.equal(cloud.nodePids().length, 3);

    await press(page, 'Edit');
    await dialog.getByLabel('Cluster name').fill('grown');
    await press(dialog, 'Save');
    await page.getByRole('heading', { level: 1, name: 'grown' }).waitFor();
    assert.deepEqual(problems, []);
  });

  it('gives its certificate as a file', async () => {
    await using opened = await open('Overview');
    const download = opened.page.waitForEvent('download');
    await press(opened.page, 'Download certificate');
    const { body } = await cloud.request('GET', `${cluster.path}/certificate`);
    const saved = readFileSync(await (await download).path(), 'utf8');
    assert.equal(saved, body.certificate);
    assert.ok(new X509Certificate(saved).ca);
  });

  it('gets, changes and loses buckets', async () => {
    await using opened = await open('Buckets');
    const { page, dialog, problems } = opened;
    await page.getByText('There are no buckets.').waitFor();
    await press(page, 'Create bucket');
    const name = dialog.getByLabel('Bucket name');
    await name.fill('not a name');
    await press(dialog, 'Create');
    await assertProblem(dialog, name);
    await name.fill('travel');
    await press(dialog, 'Create');
    await page.getByRole('rowheader', { name: 'travel' }).waitFor();
    await press(page, 'Edit travel');
    const memory = dialog.getByLabel('Memory in MiB');
    await memory.fill('99');
    await press(dialog, 'Save');
    await assertProblem(dialog, memory, 'must be a whole number of at least 100');
    await memory.fill('120');
    await press(dialog, 'Save');
    await page.getByRole('cell', { name: '120', exact: true }).waitFor();
    await press(page, 'Delete travel');
    await dialog.getByLabel('Name').fill('travel');
    await press(dialog, 'Delete bucket');
    await page.getByText('There are no buckets.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('admits addresses for a time or for good, and removes them', async () => {
    await using opened = await open('Allowlist');
    const { page, dialog, problems } = opened;
    await page.getByText('The list is empty').waitFor();
    await press(page, 'Add an address');
    const address = dialog.getByLabel('Address or network');
    await address.fill('300.1.1.1');
    await press(dialog, 'Add');
    await assertProblem(dialog, address, 'must be an IPv4 or IPv6 address or network');
    await address.fill('10.0.0.0/8');
    await dialog.getByLabel('How long').selectOption('temporary');
    const time = dialog.getByLabel('Time', { exact: true });
    await time.fill('soon');
    await press(dialog, 'Add');
    await assertProblem(dialog, time, 'must be a time such as 1h0m0s');
    await time.fill('2h');
    await dialog.getByLabel('Comment').fill('the office');
    await press(dialog, 'Add');
    await page.getByRole('cell', { name: 'the office' }).waitFor();
    await page.getByRole('cell', { name: 'active' }).waitFor();
    const { body } = await cloud.request('GET', `${cluster.path}/allowlist`);
    const shown = await page.evaluate<string>(
      `new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date('${body[0].expiresAt}'))`,
    );
    await page.getByRole('cell', { name: shown }).waitFor();
    await press(page, 'Remove 10.0.0.0/8');
    await dialog.getByLabel('Name').fill('10.0.0.0/8');
    await press(dialog, 'Remove');
    await page.getByText('The list is empty').waitFor();
    assert.deepEqual(problems, []);
  });

  it('gets, changes and loses database users', async () => {
    const bucket = { name: 'orders', memoryQuota: 100, replicas: 0 };
    assert.equal((await cloud.request('POST', `${cluster.path}/buckets`, bucket)).status, 201);
    await using opened = await open('Database users');
    const { page, dialog, problems } = opened;
    await page.getByText('There are no database users.').waitFor();
    await press(page, 'Create user');
    await dialog.getByLabel('User name').fill('app');
    const secret = dialog.getByLabel('Password');
    await secret.fill('x');
    await press(dialog, 'Create');
    await assertProblem(dialog, secret);
    await secret.fill(password);
    await press(dialog, 'Create');
    await page.getByRole('cell', { name: 'read and write: all buckets' }).waitFor();
    await press(page, 'Edit app');
    await dialog.getByLabel('Bucket').selectOption('orders');
    await dialog.getByLabel('Rights').selectOption('read');
    const scope = dialog.getByLabel('Scope');
    await scope.fill('a scope');
    await press(dialog, 'Save');
    await assertProblem(dialog, scope, 'must be the name of a scope');
    await scope.fill('_default');
    await press(dialog, 'Save');
    await page.getByRole('cell', { name: 'read: orders, scope _default' }).waitFor();
    await press(page, 'Edit app');
    await scope.fill('*');
    await press(dialog, 'Save');
    await page.getByRole('cell', { name: 'read: orders', exact: true }).waitFor();
    await press(page, 'Delete app');
    await dialog.getByLabel('Name').fill('app');
    await press(dialog, 'Delete user');
    await page.getByText('There are no database users.').waitFor();
    assert.deepEqual(problems, []);
  });
});

async function press(within: Page | Locator, name: string): Promise<void> {
  await within.getByRole('button', { name, exact: true }).click();
}

/** The problem stands beside the field, and is read out with it. */
async function assertProblem(dialog: Locator, field: Locator, text = ''): Promise<void> {
  await dialog.locator('.problem', { hasText: text }).waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  const described = (await field.getAttribute('aria-describedby')) ?? '';
  const problem = described.split(' ').find((id) => id.endsWith('problem'));
  assert.match((await dialog.locator(`[id="${problem}"]`).textContent()) ?? '', new RegExp(text));
}
