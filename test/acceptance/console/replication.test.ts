// A bucket is replicated to another cluster by the console.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertAccessible, goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../../support/node-process.ts';

const waitMs = 120_000;

describe('replication in the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  it('adds a cluster, starts a replication, changes its settings, draws its rates, pauses and deletes it', async () => {
    await using source = await NodeProcess.start({ args: ['--bucket', 'travel'] });
    await using target = await NodeProcess.start({ args: ['--bucket', 'copy'] });
    const path = '/pools/default/buckets/travel/docs/air_1';
    assert.equal((await source.request(path, 'POST', { value: '{"a":1}' })).status, 200);
    await using opened = await openPage(browser, source.ready.node.rest);
    const { page, problems } = opened;
    await signIn(page);
    await goTo(page, 'Replication');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add a cluster' }).click();
    await dialog.getByLabel('Cluster name').fill('other');
    await dialog.getByLabel('Address').fill(new URL(target.ready.node.rest).host);
    await dialog.getByLabel('User of that cluster').fill(administrator.username);
    await dialog.getByLabel('Password of that user').fill(administrator.password);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('rowheader', { name: 'other' }).waitFor();
    await page.getByRole('button', { name: 'Edit other' }).click();
    await dialog.getByLabel('Password of that user').fill('wrong');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').locator('p').waitFor();
    await assertAccessible(page, 'edit a cluster');
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('button', { name: 'Replicate a bucket' }).click();
    await dialog.getByLabel('Bucket there').fill('copy');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('rowheader', { name: 'travel' }).waitFor();
    await eventuallyWithin(waitMs, async () =>
      assert.equal((await target.request('/pools/default/buckets/copy/docs/air_1')).status, 200),
    );
    const rates = page.getByRole('figure', { name: 'Documents written a second' });
    await rates.locator('polyline').waitFor({ state: 'attached' });

    await page.getByRole('button', { name: 'Edit travel/copy' }).click();
    await dialog.getByLabel('Filter expression').fill('REGEXP_CONTAINS(');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.problem').waitFor();
    await dialog.getByLabel('Filter expression').fill('');
    await dialog.getByLabel('Do not send deletions').check();
    await dialog.getByLabel('Priority').selectOption('Low');
    await assertAccessible(page, 'settings of a replication');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const [replication] = (await (await source.request('/pools/default/replications')).json()) as [
      { priority: string; filterDeletion: boolean },
    ];
    assert.deepEqual([replication.priority, replication.filterDeletion], ['Low', true]);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('cell', { name: 'paused' }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('cell', { name: 'running' }).waitFor();
    await page.getByRole('button', { name: 'Delete travel/copy' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('travel/copy');
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No bucket is replicated.').waitFor();
    assert.deepEqual(problems, []);
  });
});
