// What every page of the console must fulfil: accessibility in both themes and on a phone's width, and no error in the browser.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessibleInThemes,
  firstViewScriptBytes,
  goTo,
  keepScreenshot,
  launchBrowser,
  openPage,
  signIn,
  tabTo,
  untilFocused,
  untilLoaded,
} from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { administrator, NodeProcess } from '../../support/node-process.ts';

const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };
const scriptBytesMax = 120_000;

describe('every page of the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let node: NodeProcess;
  before(async () => {
    browser = await launchBrowser();
    node = await NodeProcess.start({ args: ['--bucket', 'travel', '--services', 'kv,index,n1ql,backup'] });
    const roles = 'data_reader[travel]';
    const user = { password: 'password', roles, name: 'A reader' };
    assert.equal((await node.request('/settings/rbac/users/local/reader', 'PUT', user)).status, 200);
    const value = { value: '{"name":"40-Mile Air"}' };
    assert.equal(
      (await node.request('/pools/default/buckets/travel/docs/airline_10', 'POST', value)).status,
      200,
    );
  });
  after(async () => {
    await browser?.close();
    await node?.[Symbol.asyncDispose]();
  });

  for (const [size, viewport] of Object.entries(sizes)) {
    it(`is accessible and fits in both themes on a ${size}`, async () => {
      await using opened = await openPage(browser, node.ready.node.rest, { viewport });
      const { page, problems } = opened;
      await signIn(page);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      const links = page.getByRole('navigation', { includeHidden: true }).locator('a');
      const titles = await links.allTextContents();
      assert.ok(titles.length >= 13, titles.join(', '));
      for (const title of titles) {
        await goTo(page, title);
        await untilLoaded(page);
        if (title === 'Query') await page.locator('.cm-content').waitFor();
        await assertAccessibleInThemes(page, title, (theme) =>
          keepScreenshot(page, `${title}-${theme}-${size}`),
        );
      }
      assert.deepEqual(problems, []);
    });
  }

  it('can be reached with the keyboard alone, and a document can be stored with it', async () => {
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page } = opened;
    const { keyboard } = page;
    await page.getByLabel('Name').focus();
    await keyboard.type(administrator.username);
    await keyboard.press('Tab');
    await keyboard.type(administrator.password);
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await untilFocused(page, 'Overview');
    await tabTo(page, 'Documents');
    await keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
    await page.getByRole('button', { name: 'airline_10' }).waitFor();
    await tabTo(page, 'Create document');
    await keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Key', { exact: true }).waitFor();
    await keyboard.type('typed');
    await keyboard.press('Tab');
    await keyboard.press('Control+A');
    await keyboard.type('{"by":"keyboard"}');
    await tabTo(page, 'Save');
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'typed' }).waitFor();
    await page.getByRole('button', { name: 'typed' }).focus();
    await keyboard.press('Enter');
    await dialog.getByLabel('Document as JSON').waitFor();
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(
      await page.evaluate('document.activeElement.textContent'),
      'typed',
      'the focus returns to where it was',
    );
  });

  it('keeps the chosen theme after a reload', async () => {
    await using opened = await openPage(browser, node.ready.node.rest, { colorScheme: 'light' });
    const { page } = opened;
    await signIn(page);
    await page.getByLabel('Theme').selectOption('dark');
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const dark = await background();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal(await background(), dark);
    await page.getByLabel('Theme').selectOption('light');
    assert.notEqual(await background(), dark);
  });

  it('is described by a guide whose pictures all load', async () => {
    await using opened = await openPage(browser, `${node.ready.node.rest}/docs/guides/console`);
    const { page, problems } = opened;
    const widths = await page.evaluate<number[]>('[...document.images].map((image) => image.naturalWidth)');
    assert.ok(widths.length > 0 && widths.every((width) => width > 0), widths.join(', '));
    assert.deepEqual(problems, []);
  });

  it(`needs at most ${scriptBytesMax / 1000} kB of compressed script before the first view`, async () => {
    const bytes = await firstViewScriptBytes(browser, node.ready.node.rest);
    assert.ok(bytes > 0 && bytes <= scriptBytesMax, `${bytes} bytes`);
  });
});
