// A cluster grows and shrinks by the console.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { NodeProcess } from '../../support/node-process.ts';

const rebalanceMs = 240_000;

describe('the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  it('adds a node, rebalances, and removes the node once its name is typed', async () => {
    await using first = await NodeProcess.start({ args: ['--bucket', 'travel'] });
    await using second = await NodeProcess.start({ unprovisioned: true });
    const address = new URL(second.ready.node.rest).host;
    await using opened = await openPage(browser, first.ready.node.rest);
    const { page, problems } = opened;
    await signIn(page);
    await goTo(page, 'Servers');
    await page.getByText('the only node').waitFor();
    await page.getByRole('button', { name: 'Add a node' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill(address);
    await dialog.getByLabel('Password').fill('any');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.waitFor({ state: 'detached', timeout: rebalanceMs });
    const row = page.getByRole('row', { name: address });
    await row.getByText('added: rebalance to use it').waitFor();
    await page.getByRole('button', { name: 'Rebalance' }).click();
    await row.getByRole('cell', { name: 'active', exact: true }).waitFor({ timeout: rebalanceMs });

    const remove = page.getByRole('button', { name: `Remove ${address}` });
    await remove.click({ timeout: rebalanceMs });
    await dialog.getByLabel('Name', { exact: true }).fill(address);
    await dialog.getByRole('button', { name: 'Move its documents and remove it' }).click();
    await page.getByText('the only node').waitFor({ timeout: rebalanceMs });
    assert.deepEqual(problems, []);
  });
});
