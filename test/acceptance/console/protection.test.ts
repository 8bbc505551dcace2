// What the console is protected against: scripts in stored values, scripts of other sites, an ended session, a node that does not answer.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { goTo, launchBrowser, openPage, signIn, untilLoaded } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { administrator, eventually, NodeProcess } from '../../support/node-process.ts';

const script = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

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

  it('shows scripts in documents, keys, names of users and events as text', async () => {
    const fields = { password: 'password', roles: 'data_reader[travel]', name: script };
    assert.equal((await node.request('/settings/rbac/users/local/eve', 'PUT', fields)).status, 200);
    const path = `/pools/default/buckets/travel/docs/${encodeURIComponent(script)}`;
    const value = JSON.stringify({ text: script });
    assert.equal((await node.request(path, 'POST', { value })).status, 200);
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page, problems } = opened;
    // The test answers in place of the node, whose events have no text that a client chooses freely.
    const event = { node: script, type: 'info', tstamp: 1, shortText: script, text: script };
    await page.route('**/logs', (route) => route.fulfill({ json: { list: [event] } }));
    await signIn(page);
    for (const title of ['Documents', 'Security', 'Events', 'Overview']) {
      await goTo(page, title);
      await untilLoaded(page);
      if (title === 'Documents') await page.getByRole('button', { name: script }).waitFor();
      if (title === 'Security') await page.getByRole('cell', { name: script }).waitFor();
      if (title === 'Events') await page.getByText(script).first().waitFor();
      assert.equal(await page.locator('main img, main script').count(), 0, title);
    }
    await goTo(page, 'Documents');
    await page.getByRole('button', { name: script }).click();
    await page.getByRole('dialog').getByLabel('Document as JSON').waitFor();
    assert.equal(await page.locator('dialog img, dialog script').count(), 0);
    await page.goto(`${node.ready.node.rest}/ui/#/documents/${encodeURIComponent(script)}`);
    await page.getByRole('alert').getByText('not').first().waitFor();
    await page.goto(`${node.ready.node.rest}/ui/#/${encodeURIComponent(script)}`);
    await page.getByText('There is no page').waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.deepEqual(problems, []);
  });

  it('loads neither inline scripts, nor resources of other sites, nor HTML from text', async () => {
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page, problems } = opened;
    await page.getByLabel('Name').waitFor();
    const title = await page.title();
    await page.evaluate(`{
      const inline = document.createElement('script');
      inline.append('document.title = "taken"');
      document.body.append(inline);
      const foreign = document.createElement('link');
      foreign.rel = 'stylesheet';
      foreign.href = 'http://127.0.0.2/x.css';
      document.head.append(foreign);
      const other = document.createElement('img');
      other.src = 'http://127.0.0.2/x.png';
      document.body.append(other);
      try { document.body.innerHTML = '<b>taken</b>' } catch (error) { console.error(error.message) }
    }`);
    assert.equal(await page.title(), title);
    await page.getByLabel('Name').waitFor();
    for (const refused of ['TrustedScript', 'style-src', 'img-src', 'TrustedHTML'])
      await eventually(() =>
        assert.ok(
          problems.some((text) => text.includes(refused)),
          `${refused}: ${problems.join('\n')}`,
        ),
      );
  });

  it('calls no other address', async () => {
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page } = opened;
    const origins = new Set<string>();
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    await page.reload();
    await signIn(page);
    for (const title of ['Metrics', 'Query']) {
      await goTo(page, title);
      await untilLoaded(page);
    }
    assert.deepEqual([...origins], [new URL(node.ready.node.rest).origin]);
  });

  it('asks again for the password when a session has ended, and keeps what a form contains', async () => {
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page } = opened;
    await signIn(page);
    await goTo(page, 'Documents');
    await page.getByRole('button', { name: 'Create document' }).click();
    const form = page.getByRole('dialog').first();
    await form.getByLabel('Key', { exact: true }).fill('kept');
    await page.context().clearCookies();
    await form.getByRole('button', { name: 'Save' }).click();
    const again = page.getByRole('dialog', { name: 'The session has ended' });
    await again.getByLabel('Name').fill(administrator.username);
    await again.getByLabel('Password').fill(administrator.password);
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    assert.equal(await form.getByLabel('Key', { exact: true }).inputValue(), 'kept');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'kept' }).waitFor();
  });

  it('shows a user only what the roles allow, and says what they do not allow', async () => {
    const fields = { password: 'password', roles: 'data_reader[travel]' };
    assert.equal((await node.request('/settings/rbac/users/local/reader', 'PUT', fields)).status, 200);
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page } = opened;
    await signIn(page, { username: 'reader', password: 'password' });
    await goTo(page, 'Security');
    await page.getByText('You do not have permission for this.').first().waitFor();
    await goTo(page, 'Buckets');
    await page.getByRole('rowheader', { name: 'travel' }).waitFor();
  });

  it('works over TLS, and can be switched off for each protocol', async () => {
    const { rest, restTls } = node.ready.node;
    const set = (fields: Record<string, string>) => node.request('/settings/security', 'POST', fields);
    await using opened = await openPage(browser, restTls);
    const { page } = opened;
    const status = async (url: string) => (await page.request.get(url)).status();
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal((await page.context().cookies())[0]?.secure, true);
    assert.equal((await set({ disableUIOverHttps: 'true' })).status, 200);
    assert.equal(await status(`${restTls}/ui/`), 404);
    assert.equal(await status(`${rest}/ui/`), 200);
    assert.equal((await set({ disableUIOverHttps: 'false', disableUIOverHttp: 'true' })).status, 200);
    assert.equal(await status(`${restTls}/ui/`), 200);
    assert.equal(await status(`${rest}/ui/`), 404);
    await set({ disableUIOverHttp: 'false' });
  });

  it('shows that the node does not answer, and continues when it answers again', async () => {
    await using lost = await NodeProcess.start({});
    await using opened = await openPage(browser, lost.ready.node.rest);
    const { page } = opened;
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const row = page.getByRole('rowheader', { name: new URL(lost.ready.node.rest).host });
    await row.waitFor();
    await page.context().setOffline(true);
    await page.getByText('The node does not answer.').first().waitFor();
    await row.waitFor();
    await page.context().setOffline(false);
    await page.getByText('The node does not answer.').first().waitFor({ state: 'detached' });
  });
});
