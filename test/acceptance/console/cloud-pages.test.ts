// What every page of the cloud's console must fulfil: accessibility in both themes and on a phone's width, use by keyboard, paged lists.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { aCluster, type CloudCluster } from '../../support/cloud-cluster.ts';
import { CloudProcess } from '../../support/cloud-process.ts';
import {
  assertAccessibleInThemes,
  firstViewScriptBytes,
  goTo,
  goToPart,
  launchBrowser,
  openPage,
  signInToCloud,
  tabTo,
  untilFocused,
  untilLoaded,
} from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { eventually } from '../../support/node-process.ts';

const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };
const scriptBytesMax = 120_000;
const password = 'correct-Horse-7';

/** The parts of a cluster's page, each with the button that opens a dialog there. */
const parts = {
  Overview: 'Change nodes',
  Buckets: 'Create bucket',
  Allowlist: 'Add my address',
  'Database users': 'Edit app',
  Connect: '',
};

describe('every page of the console of the cloud', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let cloud: CloudProcess;
  let cluster: CloudCluster;
  before(async () => {
    browser = await launchBrowser();
    cloud = await CloudProcess.start();
    cluster = await aCluster(cloud, { services: ['data', 'index', 'query'] });
    const bucket = { name: 'travel', memoryQuota: 100, replicas: 0 };
    const access = [{ bucketName: 'travel', bucketAccess: ['data_reader'] }];
    const user = { username: 'app', password, buckets: access };
    assert.equal((await cloud.request('POST', `${cluster.path}/buckets`, bucket)).status, 201);
    assert.equal((await cloud.request('POST', `${cluster.path}/users`, user)).status, 201);
  });
  after(async () => {
    await browser?.close();
    await cloud?.[Symbol.asyncDispose]();
  });

  for (const [size, viewport] of Object.entries(sizes)) {
    it(`is accessible and fits in both themes on a ${size}`, async () => {
      await using opened = await openPage(browser, cloud.ready.api, { viewport });
      const { page, problems } = opened;
      await assertAccessibleInThemes(page, 'sign in');
      await signInToCloud(page, cloud.ready.token);
      for (const title of ['Projects', 'Clusters', 'Organization']) {
        await goTo(page, title);
        await untilLoaded(page);
        await assertAccessibleInThemes(page, title);
      }
      await page.goto(`${cloud.ready.api}/#/cluster/${cluster.id}`);
      for (const [part, dialog] of Object.entries(parts)) {
        await goToPart(page, part);
        await untilLoaded(page);
        await assertAccessibleInThemes(page, part);
        if (dialog !== '') await assertDialogAccessible(page, dialog);
      }
      await goTo(page, 'Clusters');
      await assertDialogAccessible(page, 'Create cluster');
      assert.deepEqual(problems, []);
    });
  }

  it('creates a project by the keyboard alone, and returns the focus to where it was', async () => {
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    const { keyboard } = page;
    await page.getByLabel('Token').focus();
    await keyboard.type(cloud.ready.token);
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Projects' }).waitFor();
    await untilFocused(page, 'Projects');
    await tabTo(page, 'Create project');
    await keyboard.press('Enter');
    await page.getByLabel('Project name').waitFor();
    await keyboard.type('typed');
    await keyboard.press('Enter');
    await page.getByRole('link', { name: 'typed' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Create project');
    await tabTo(page, 'typed');
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Clusters' }).waitFor();
    // Until the projects are read, the choice shows the id.
    const chosen = page.getByLabel('Project').locator('option:checked');
    await eventually(async () => assert.equal(await chosen.textContent(), 'typed'));
  });

  it('shows a long list page by page, and the new last page once the page that was shown no longer exists', async () => {
    const names = Array.from({ length: 41 }, (_, number) => `many-${String(number).padStart(2, '0')}`);
    for (const name of names) {
      const { status } = await cloud.request('POST', '/v2/projects', { name });
      assert.equal(status, 201);
    }
    await using opened = await openPage(browser, cloud.ready.api);
    const { page } = opened;
    await signInToCloud(page, cloud.ready.token);
    await page.getByRole('link', { name: 'many-00' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'many-40' }).count(), 0);
    const next = page.getByRole('button', { name: 'Next' });
    while (await next.isEnabled()) {
      const shown = await page.getByText(/^Page \d+ of/).textContent();
      await next.click();
      await page.getByText(shown ?? '').waitFor({ state: 'detached' });
      await page.getByText(/^Page \d+ of/).waitFor();
    }
    await page.getByText('Page 3 of 3').waitFor();
    const { body } = await cloud.request('GET', '/v2/projects?perPage=100&sortBy=name.asc');
    for (const { id, name } of body.data)
      if (name.startsWith('many')) await cloud.request('DELETE', `/v2/projects/${id}`);
    // Makes the page read its list again.
    await page.evaluate("dispatchEvent(new Event('divan-signed-in-again'))");
    await page.getByRole('link', { name: 'project of orders' }).waitFor();
  });

  it('says so where the browser does not let it copy a program, or buckets cannot be listed', async () => {
    await using opened = await openPage(browser, `${cloud.ready.api}/#/cluster/${cluster.id}/connect`);
    const { page, problems } = opened;
    await signInToCloud(page, cloud.ready.token);
    const copy = page.getByRole('button', { name: 'Copy' });
    await copy.waitFor();
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await copy.click();
    await page.getByText('The browser does not let this page copy').waitFor();
    await goToPart(page, 'Database users');
    await page.route('**/buckets', (route) =>
      route.fulfill({ status: 422, json: { errorType: 'ValidationError', message: 'no buckets now' } }),
    );
    await page.getByRole('button', { name: 'Edit app' }).click();
    await page.getByRole('dialog').getByText('no buckets now').waitFor();
    assert.deepEqual(problems, []);
  });

  it(`needs at most ${scriptBytesMax / 1000} kB of compressed script before the first view`, async () => {
    const bytes = await firstViewScriptBytes(browser, cloud.ready.api, 'Token');
    assert.ok(bytes > 0 && bytes <= scriptBytesMax, `${bytes} bytes`);
  });
});

async function assertDialogAccessible(page: Page, button: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await assertAccessibleInThemes(page, button);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}
