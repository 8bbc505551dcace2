// The way through the console of the cloud in a real browser: from a token to a program that uses a cluster, and back to nothing.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { CloudProcess } from '../../support/cloud-process.ts';
import {
  assertAccessible,
  goTo,
  goToPart,
  launchBrowser,
  openPage,
  signInToCloud,
} from '../../support/console.ts';
import { needs } from '../../support/needs.ts';

const password = 'correct-Horse-7';
const programTimeoutMs = 300_000;

describe('the console of the cloud', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let cloud: CloudProcess;
  before(async () => {
    browser = await launchBrowser();
    cloud = await CloudProcess.start();
  });
  after(async () => {
    await browser?.close();
    await cloud?.[Symbol.asyncDispose]();
  });

  it('creates a cluster with its contents, shows a program that uses it, and deletes everything', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page, problems } = opened;
    const dialog = page.getByRole('dialog');
    await signInToCloud(page, cloud.ready.token);
    await page.getByText('There are no projects.').waitFor();
    await press(page, 'Create project');
    await dialog.getByLabel('Project name').fill('shop');
    await press(page, 'Create');
    await page.getByRole('link', { name: 'shop' }).click();

    await page.getByText('There are no clusters.').waitFor();
    await press(page, 'Create cluster');
    await dialog.getByLabel('Cluster name').fill('orders');
    await press(page, 'Create');
    const creation = page.getByRole('region', { name: 'Creation of the cluster' });
    await creation.getByRole('listitem').filter({ hasText: 'Write and read a document' }).waitFor();
    await creation.getByText('Creation of the cluster: done').waitFor();
    await page.getByText('healthy', { exact: true }).first().waitFor();
    await page.getByRole('heading', { level: 1, name: 'orders' }).waitFor();

    await goToPart(page, 'Connect');
    await page.getByText('The allowlist has no valid address').waitFor();
    await page.getByRole('link', { name: 'Add an address' }).click();
    await press(page, 'Add my address');
    assert.equal(await dialog.getByLabel('Address or network').inputValue(), '127.0.0.1');
    await press(page, 'Add', dialog);
    await page.getByRole('rowheader', { name: '127.0.0.1' }).waitFor();
    await page.getByText('active', { exact: true }).waitFor();

    await goToPart(page, 'Buckets');
    await press(page, 'Create bucket');
    await dialog.getByLabel('Bucket name').fill('travel');
    await press(page, 'Create', dialog);
    await page.getByRole('rowheader', { name: 'travel' }).waitFor();

    await goToPart(page, 'Database users');
    await press(page, 'Create user');
    const username = dialog.getByLabel('User name');
    await username.fill('not a "name"');
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByLabel('Bucket').selectOption('travel');
    await press(page, 'Create', dialog);
    await dialog.locator('.problem').waitFor();
    assert.equal(await username.getAttribute('aria-invalid'), 'true');
    await username.fill('app$1');
    await press(page, 'Create', dialog);
    await page.getByRole('cell', { name: 'read and write: travel' }).waitFor();

    await goToPart(page, 'Connect');
    const program = page.getByRole('region', { name: 'Program for Node.js' });
    await program.getByText('couchbase://').waitFor();
    assert.match(runProgram((await program.textContent()) ?? ''), /\{ text: 'Hello' \}/);

    await goToPart(page, 'Overview');
    const certificate = page.waitForEvent('download');
    await press(page, 'Download certificate');
    assert.equal((await certificate).suggestedFilename(), 'orders.pem');
    await assertAccessible(page, 'a cluster');

    await press(page, 'Delete cluster');
    const confirm = dialog.getByRole('button', { name: 'Delete cluster' });
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel('Name').fill('orders');
    await confirm.click();
    await page.getByText('Deletion of the cluster: done').waitFor();
    await page.getByText('The cluster does not exist, or not any more.').waitFor();

    await goTo(page, 'Projects');
    await press(page, 'Delete shop');
    await dialog.getByLabel('Name').fill('shop');
    await press(page, 'Delete project');
    await page.getByText('There are no projects.').waitFor();
    assert.deepEqual(cloud.nodePids(), []);
    assert.deepEqual(problems, []);
  });
});

async function press(page: Page, name: string, within: Pick<Page, 'getByRole'> = page): Promise<void> {
  await within.getByRole('button', { name, exact: true }).click();
}

/** What the program prints; the SDK of this checkout is installed for it. */
function runProgram(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-program-'));
  try {
    symlinkSync(
      fileURLToPath(new URL('../../../node_modules', import.meta.url)),
      join(folder, 'node_modules'),
    );
    writeFileSync(join(folder, 'program.mjs'), text);
    return execFileSync(process.execPath, ['program.mjs'], {
      cwd: folder,
      encoding: 'utf8',
      timeout: programTimeoutMs,
      env: { ...process.env, DATABASE_PASSWORD: password },
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
