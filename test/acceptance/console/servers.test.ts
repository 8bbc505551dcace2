// A cluster gets and loses a node by the console.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertAccessible, goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../../support/node-process.ts';

const rebalanceMs = 240_000;

describe('the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  it('adds a node, rebalances, fails it over and recovers it, removes it, and joins it by the wizard of the node', async () => {
    // Without a bucket: other tests move documents, which takes time.
    await using first = await NodeProcess.start();
    await using second = await NodeProcess.start({ unprovisioned: true });
    const address = new URL(second.ready.node.rest).host;
    await using opened = await openPage(browser, first.ready.node.rest);
    const { page, problems } = opened;
    page.setDefaultTimeout(rebalanceMs);
    await signIn(page);
    await goTo(page, 'Servers');
    await page.getByText('the only node').waitFor();
    await page.getByRole('button', { name: 'Add a node' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill(address);
    await dialog.getByLabel('Password').fill('any');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: address });
    const isActive = row.getByRole('cell', { name: 'active', exact: true });
    await row.getByText('added: rebalance to use it').waitFor();
    await page.getByRole('button', { name: 'Rebalance' }).click();
    await isActive.waitFor();

    await page.getByRole('button', { name: `Fail over ${address}` }).click();
    await dialog.getByText('take over without a failed write').waitFor();
    await assertAccessible(page, 'fail over');
    const failOver = dialog.getByRole('button', { name: 'Fail over' });
    assert.equal(await failOver.isDisabled(), true);
    await dialog.getByLabel('Name', { exact: true }).fill(address);
    await failOver.click();
    await row.getByText('failed over').waitFor();
    await row.getByRole('button', { name: 'Full recovery' }).waitFor();
    await row.getByRole('button', { name: 'Delta recovery' }).click();
    await row.getByText('added: rebalance to use it').waitFor();
    await page.getByRole('button', { name: 'Rebalance' }).click();
    await isActive.waitFor();

    await page.getByRole('button', { name: `Remove ${address}` }).click();
    await dialog.getByLabel('Name', { exact: true }).fill(address);
    await dialog.getByRole('button', { name: 'Move its documents and remove it' }).click();
    await page.getByText('the only node').waitFor();

    // A removed node starts as a new one, without a cluster.
    await eventuallyWithin(rebalanceMs, async () => {
      const { pools } = (await (await fetch(`${second.ready.node.rest}/pools`)).json()) as { pools: unknown };
      assert.deepEqual(pools, []);
    });
    await using wizard = await openPage(browser, second.ready.node.rest);
    await joinByWizard(wizard.page, first.ready.node.rest);
    await row.getByText('added: rebalance to use it').waitFor();
    assert.deepEqual([...problems, ...wizard.problems], []);
  });
});

/** Joins the cluster of `hostname`, first with a wrong password, and signs in as its administrator. */
async function joinByWizard(page: Page, hostname: string): Promise<void> {
  page.setDefaultTimeout(rebalanceMs);
  await page.getByRole('heading', { name: 'not set up yet' }).waitFor();
  await page.getByLabel('Join a cluster that exists').check();
  await assertAccessible(page, 'join');
  await page.getByLabel('Address of a node of the cluster').fill(hostname);
  await page.getByLabel('Password').fill('wrong password');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.locator('.notice.wrong').first().waitFor();
  await page.getByLabel('Password').fill(administrator.password);
  const refusal = page.locator('.notice.wrong');
  // A node that has just been removed may answer before it knows its own port, which it sends with the request.
  await eventuallyWithin(rebalanceMs, async () => {
    await page.getByRole('button', { name: 'Join' }).click();
    await refusal
      .or(page.getByLabel('Name', { exact: true }))
      .first()
      .waitFor();
    assert.equal(await refusal.count(), 0);
  });
  await signIn(page);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
}
