// The console with unusual data and events: odd keys, large and binary documents, thousands of collections, refused and slow requests, a node
// that is gone during a change.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RawBinaryTranscoder } from 'couchbase';
import type { Browser } from 'playwright-core';
import { assertAccessible, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../../support/node-process.ts';
import { connect } from '../../support/sdk.ts';

const restartMs = 240_000;
const largestBytes = 20 << 20;

describe('the console with unusual data', { skip: needs('chromium') }, () => {
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

  it('creates, opens and deletes documents whose keys have odd characters, and names keys that browsers cannot address', async () => {
    await using opened = await at(node, 'documents/travel');
    const { page, problems } = opened;
    const dialog = page.getByRole('dialog');
    const keys = ['a/../b?c=d&e#f', '%2F%00+ ü 😀 "\'<>\\', '__proto__'];
    for (const key of keys) {
      await page.getByRole('button', { name: 'Create document' }).click();
      await dialog.getByLabel('Key', { exact: true }).fill(key);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: key, exact: true }).click();
      await dialog.getByLabel('Document as JSON').waitFor();
      await dialog.getByRole('button', { name: 'Delete document' }).click();
      await page.getByLabel('Name', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('button', { name: key, exact: true }).waitFor({ state: 'detached' });
    }
    await page.getByLabel('Key or its beginning').fill('..');
    await page.getByRole('button', { name: 'Open this key' }).click();
    await dialog.getByText('Browsers cannot address the name “..”.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('lists documents of 20 MiB, shows the beginning of one, and deletes it; shows that a document is not JSON', async () => {
    const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    try {
      const documents = cluster.bucket('travel').defaultCollection();
      const text = 'x'.repeat(largestBytes - '{"text":""}'.length);
      for (const key of ['large_1', 'large_2']) await documents.upsert(key, { text });
      await documents.upsert('small', { a: 1 });
      await documents.upsert('binary', Buffer.from([0, 255]), { transcoder: new RawBinaryTranscoder() });
    } finally {
      await cluster.close();
    }
    await using opened = await at(node, 'documents/travel');
    const { page, problems } = opened;
    const dialog = page.getByRole('dialog');
    await page
      .getByRole('row', { name: 'large_1' })
      .getByText(/^\{"text":"xxx/)
      .waitFor();
    await page.getByRole('button', { name: 'large_2' }).waitFor();
    await page.getByRole('button', { name: 'small' }).waitFor();
    await page.getByRole('button', { name: 'large_1' }).click();
    await dialog.getByText('This document has 20 MiB').waitFor();
    assert.match(await dialog.getByLabel('Beginning of the document').inputValue(), /^\{"text":"xxx/);
    assert.equal(await dialog.getByRole('button', { name: 'Save', exact: true }).count(), 0);
    await assertAccessible(page, 'a large document');
    await dialog.getByRole('button', { name: 'Delete document' }).click();
    await page.getByLabel('Name', { exact: true }).fill('large_1');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'large_1' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'binary' }).click();
    await dialog.getByText('This document is not JSON').waitFor();
    assert.deepEqual(problems, []);
  });

  it('shows 10,000 collections page by page, and offers all of them for documents', async () => {
    const collections = Array.from({ length: 10_000 }, (_, number) => ({ name: `c${number}`, uid: '9' }));
    const scopes = [
      { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
      { name: 'many', uid: '8', collections },
    ];
    await using opened = await at(node, 'collections/travel', async (page) => {
      // The test answers in place of the node, which refuses more than 1,200 collections.
      await page.route('**/scopes', (route) =>
        route.fulfill({ contentType: 'application/json', body: JSON.stringify({ uid: '9', scopes }) }),
      );
    });
    const { page, problems } = opened;
    await page.getByText('Page 1 of 201, 10001 rows').waitFor();
    assert.ok((await page.getByRole('row').count()) <= 51);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Page 2 of 201').waitFor();
    await assertAccessible(page, 'many collections');
    await page.goto(`${node.ready.node.rest}/ui/#/documents/travel/many/c9998`);
    await page.getByLabel('Collection', { exact: true }).selectOption('c9999');
    await page.waitForURL(/many\/c9999$/);
    assert.deepEqual(problems, []);
  });

  it('shows no counts of buckets before they are loaded, and says why alerts are not dismissed', async () => {
    const released = Promise.withResolvers<void>();
    await using opened = await at(node, 'overview', async (page) => {
      await page.route('**/pools/default/buckets', async (route) => {
        await released.promise;
        await route.continue();
      });
      await page.route('**/pools/default', async (route) => {
        const response = await route.fetch();
        // Before the sign-in the node refuses this read, and its answer is no JSON.
        if (!response.ok()) return await route.fulfill({ response });
        const alerts = [{ msg: 'the disk is full', serverTime: '2026-01-01T00:00:00.000Z' }];
        await route.fulfill({ response, json: { ...(await response.json()), alerts } });
      });
      await page.route('**/resetAlerts', (route) => route.fulfill({ status: 403 }));
    });
    const { page, problems } = opened;
    const card = page.locator('.card', { hasText: 'Operations a second' }).locator('dd');
    await card.waitFor();
    assert.match((await card.textContent()) ?? '', /^…/);
    released.resolve();
    await card.getByText(/^\d/).waitFor();
    await page.getByRole('button', { name: 'Dismiss alerts' }).click();
    await page.getByText('You do not have permission for this.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('runs one statement at a time, and shows its rows although the browser cannot store it', async () => {
    let runs = 0;
    const released = Promise.withResolvers<void>();
    await using opened = await at(node, 'query', async (page) => {
      await page.route('**/query/service', async (route) => {
        runs++;
        await released.promise;
        await route.continue();
      });
    });
    const { page, problems } = opened;
    await page.evaluate("Storage.prototype.setItem = () => { throw new Error('full'); }");
    await page.getByRole('button', { name: 'Run' }).focus();
    await page.keyboard.press('Control+Enter');
    await page.getByText('The statement runs…').waitFor();
    await page.keyboard.press('Control+Enter');
    released.resolve();
    await page.getByText(/^1 rows in/).waitFor();
    await page.getByText('Saved statements').click();
    await page.getByLabel('Name for this statement').fill('one');
    await page.getByRole('button', { name: 'Save statement' }).click();
    await page.getByRole('alert').getByText('full').waitFor();
    assert.deepEqual([runs, problems], [1, []]);
  });

  it('says why roles, groups and tasks are missing', async () => {
    await using opened = await at(node, 'security', async (page) => {
      for (const part of ['settings/rbac/roles', 'settings/rbac/groups', 'pools/default/tasks'])
        await page.route(`**/${part}`, (route) => route.fulfill({ status: 500, body: `no ${part}` }));
    });
    const { page, problems } = opened;
    await page.getByRole('button', { name: 'Create user' }).click();
    for (const part of ['roles', 'groups'])
      await page.getByRole('dialog').getByText(`no settings/rbac/${part}`).waitFor();
    for (const name of ['buckets', 'servers', 'logs']) {
      await page.goto(`${node.ready.node.rest}/ui/#/${name}`);
      await page.getByText('no pools/default/tasks').waitFor();
    }
    assert.deepEqual(problems, []);
  });

  it('says that a form was not loaded, and that the node does not answer a sign-out', async () => {
    await using opened = await at(node, 'overview');
    const { page, problems } = opened;
    await page.route('**/uilogout', (route) => route.abort());
    await page.route('**/whoami', (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('The node does not answer.').waitFor();
    await page.unroute('**/whoami');
    const anonymous = { id: '', domain: 'anonymous' };
    await page.route('**/whoami', (route) => route.fulfill({ json: anonymous }));
    await page.route('**/pools/default', (route) => route.fulfill({ status: 404 }));
    await page.route('**/set-up-*.js', (route) => route.abort());
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The form could not be loaded: the node does not answer.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('keeps what a form contains while the node is gone, and saves it when the node is back', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'divan-gone-'));
    try {
      await using first = await NodeProcess.start({ dataDir, args: ['--bucket', 'travel'] });
      await using opened = await at(first, 'documents/travel');
      const { page } = opened;
      await page.getByRole('button', { name: 'Create document' }).click();
      const form = page.getByRole('dialog').first();
      await form.getByLabel('Key', { exact: true }).fill('kept');
      await first.stop('SIGKILL');
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByText('The node does not answer.').waitFor();
      const rest = Number(new URL(first.ready.node.rest).port);
      // For a moment another process may have the port.
      await using second = await eventuallyWithin(restartMs, () =>
        NodeProcess.start({ dataDir, ports: { rest } }),
      );
      assert.equal(second.ready.node.rest, first.ready.node.rest);
      await form.getByRole('button', { name: 'Save' }).click();
      const again = page.getByRole('dialog', { name: 'The session has ended' });
      await again.getByLabel('Name').fill(administrator.username);
      await again.getByLabel('Password').fill(administrator.password);
      await again.getByRole('button', { name: 'Sign in' }).click();
      await again.waitFor({ state: 'detached' });
      assert.equal(await form.getByLabel('Key', { exact: true }).inputValue(), 'kept');
      await form.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'kept', exact: true }).waitFor();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  async function at(
    { ready }: NodeProcess,
    address: string,
    prepare: (page: Awaited<ReturnType<typeof openPage>>['page']) => Promise<void> = async () => {},
  ) {
    const opened = await openPage(browser, ready.node.rest);
    await prepare(opened.page);
    await signIn(opened.page);
    await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await opened.page.goto(`${ready.node.rest}/ui/#/${address}`);
    return opened;
  }
});
