// The first run of a node in the browser.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertAccessible, goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { NodeProcess } from '../../support/node-process.ts';

describe('the console of a new node', { skip: needs('chromium') }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());

  it('sets the node up, shows the problem of a field, and signs in', async () => {
    await using node = await NodeProcess.start({ unprovisioned: true });
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page, problems } = opened;
    await page.getByRole('heading', { name: 'not set up yet' }).waitFor();
    await assertAccessible(page, 'set up');
    await page.getByLabel('Cluster name').fill('first');
    await page.getByLabel('Password', { exact: true }).fill('short');
    await page.getByLabel('Repeat the password').fill('shorter');
    await page.getByText('The passwords differ.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Set up' }).isDisabled(), true);
    await page.getByLabel('Repeat the password').fill('short');
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.locator('.problem').first().waitFor();
    assert.equal(await page.getByLabel('Password', { exact: true }).getAttribute('aria-invalid'), 'true');
    await page.getByLabel('Password', { exact: true }).fill('password');
    await page.getByLabel('Repeat the password').fill('password');
    await page.getByRole('button', { name: 'Set up' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await goTo(page, 'Documents');
    await page.getByText('There are no buckets.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, { password: 'password' });
    await page.getByText('There are no buckets.').waitFor();
    assert.deepEqual(problems, []);
  });
});
