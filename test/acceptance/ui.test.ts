// The web page of a node in a real browser.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium as engine, type Page } from 'playwright-core';
import { chromium, needs } from '../support/needs.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

describe('the page of a node', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let node: NodeProcess;
  before(async () => {
    browser = await engine.launch({ executablePath: chromium, args: ['--no-sandbox'] });
    node = await NodeProcess.start({ args: ['--bucket', 'travel'] });
  });
  after(async () => {
    await browser?.close();
    await node?.[Symbol.asyncDispose]();
  });

  it('shows the node, its services, buckets and tasks after a login, and nothing before', async () => {
    const { page, consoleErrors } = await opened(node.ready.node.rest);
    assert.equal(new URL(page.url()).pathname, '/ui/');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(await page.locator('#figures').isVisible(), false);

    await signIn(page, 'wrong password');
    await page.getByText('The name or the password is wrong.').waitFor();
    assert.equal(await page.locator('#figures').isVisible(), false);

    await signIn(page, administrator.password);
    const nodes = page.getByRole('region', { name: 'Node' });
    await nodes.getByRole('rowheader', { name: new URL(node.ready.node.rest).host }).waitFor();
    assert.deepEqual(
      await nodes
        .getByRole('cell')
        .allTextContents()
        .then((all) => all.slice(0, 2)),
      ['healthy', 'data, index, query'],
    );
    await page.getByRole('region', { name: 'Buckets' }).getByRole('rowheader', { name: 'travel' }).waitFor();
    await page.getByRole('region', { name: 'Tasks' }).getByText('No task is running.').waitFor();

    await page.getByRole('button', { name: 'Sign out' }).click();
    assert.equal(await page.locator('#figures').isVisible(), false);
    assert.equal(await page.getByLabel('Password').inputValue(), '');
    // The console may have only the browser's messages about status 401.
    assert.deepEqual(
      consoleErrors.filter((text) => !text.includes('status of 401')),
      [],
    );
    await page.close();
  });

  it('escapes names, and reports what a user may not see', async () => {
    const name = '<img src=x onerror=alert(1)>';
    const roles = 'data_reader[travel]';
    const fields = { password: 'password', roles, name };
    assert.equal((await node.request('/settings/rbac/users/local/reader', 'PUT', fields)).status, 200);
    const { page } = await opened(node.ready.node.rest);
    await signIn(page, 'password', name);
    await page.getByText('The name or the password is wrong.').waitFor();
    assert.equal(await page.locator('img').count(), 0);
    await signIn(page, 'password', 'reader');
    await page.getByRole('region', { name: 'Buckets' }).getByRole('rowheader', { name: 'travel' }).waitFor();
    await page
      .getByRole('region', { name: 'Tasks' })
      .getByText('You do not have permission to see this.')
      .waitFor();
    await page.close();
  });

  it('runs only its own scripts and styles', async () => {
    const { page, consoleErrors } = await opened(node.ready.node.rest);
    await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'document.title = "taken"';
      document.body.append(script);
    }`);
    assert.equal(await page.title(), 'Divan');
    assert.ok(consoleErrors.some((text) => text.includes('Content Security Policy')));
    await page.close();
  });

  it('fits a narrow screen, works by keyboard, and has readable contrast in light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const viewport = { width: 320, height: 640 };
      const { page } = await opened(node.ready.node.rest, { viewport, colorScheme });
      assert.equal(await page.evaluate('document.activeElement.id'), 'name');
      await page.keyboard.type(administrator.username);
      await page.keyboard.press('Tab');
      await page.keyboard.type(administrator.password);
      await page.keyboard.press('Enter');
      await page.getByRole('rowheader', { name: 'travel' }).waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(width <= viewport.width, `${width} pixels wide`);
      for (const selector of ['th[scope=row]', 'td', 'a', 'header p', 'button']) {
        const ratio = await contrast(page, selector);
        assert.ok(ratio >= 4.5, `${colorScheme} ${selector}: ${ratio}`);
      }
      await page.close();
    }
  });

  it('works over TLS, and a setting switches it off', async () => {
    const { rest, restTls } = node.ready.node;
    const set = (fields: Record<string, string>) => node.request('/settings/security', 'POST', fields);
    const { page } = await opened(restTls);
    const status = async (url: string) => (await page.request.get(url)).status();
    await signIn(page, administrator.password);
    await page.getByRole('rowheader', { name: 'travel' }).waitFor();
    assert.equal((await set({ disableUIOverHttps: 'true' })).status, 200);
    assert.equal(await status(`${restTls}/ui/`), 404);
    assert.equal(await status(`${rest}/ui/`), 200);
    assert.equal((await set({ disableUIOverHttps: 'false', disableUIOverHttp: 'true' })).status, 200);
    assert.equal(await status(`${restTls}/ui/`), 200);
    assert.equal(await status(`${rest}/ui/`), 404);
    await set({ disableUIOverHttp: 'false' });
    await page.close();
  });

  async function opened(address: string, options: Parameters<Browser['newPage']>[0] = {}) {
    const page = await browser.newPage({ ignoreHTTPSErrors: true, ...options });
    const consoleErrors: string[] = [];
    page.on('console', (line) => {
      if (line.type() === 'error') consoleErrors.push(line.text());
    });
    page.on('pageerror', (error) => consoleErrors.push(error.message));
    await page.goto(address);
    await page.getByLabel('Name').waitFor();
    return { page, consoleErrors };
  }
});

async function signIn(page: Page, password: string, name: string = administrator.username): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Runs in the page: the contrast of texts with their background (WCAG 2.2, 1.4.3). */
const contrastOf = `(element) => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = element;
  while (channels(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
  const text = light(getComputedStyle(element).color);
  const ground = light(getComputedStyle(behind).backgroundColor);
  return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
}`;

const contrast = (page: Page, selector: string): Promise<number> => {
  const shown = `[...document.querySelectorAll('${selector}')].find((one) => one.checkVisibility())`;
  return page.evaluate<number>(`(${contrastOf})(${shown})`);
};
