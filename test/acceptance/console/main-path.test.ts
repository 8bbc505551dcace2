// The way through the console of a node in a real browser: sign in, buckets, collections, documents.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertAccessible, codeIn, goTo, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { eventually, NodeProcess } from '../../support/node-process.ts';

describe('the console of a node', { skip: needs('chromium') }, () => {
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

  it('shows the cluster after a login, keeps the session after a reload, and shows nothing after the sign-out', async () => {
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page, problems } = opened;
    assert.equal(new URL(page.url()).pathname, '/ui/');
    await assertAccessible(page, 'sign in');
    await signIn(page, { password: 'wrong password' });
    await page.getByText('The name or the password is wrong.').waitFor();

    await signIn(page);
    await page.getByRole('rowheader', { name: new URL(node.ready.node.rest).host }).waitFor();
    await page.getByRole('cell', { name: 'data, index, query' }).waitFor();
    await page.getByText('No task is running.').waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.deepEqual(problems, []);
  });

  it('creates, flushes and compacts a bucket, shows the problem of a field, and deletes the bucket once its name is typed', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Buckets');
    await page.getByRole('button', { name: 'Create bucket' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Bucket name').fill('not a name');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const field = dialog.getByLabel('Bucket name');
    await dialog.locator('.problem').first().waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await assertAccessible(page, 'create a bucket');
    await field.fill('orders');
    await dialog.getByLabel('Memory quota').fill('100');
    await dialog.getByLabel('Allow flushing all documents').check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('rowheader', { name: 'orders' }).waitFor();
    await flush(page, 'orders');
    await compact(page, 'orders');

    await page.getByRole('button', { name: 'Delete orders' }).click();
    const confirm = dialog.getByRole('button', { name: 'Delete bucket' });
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel('Name').fill('orders');
    await confirm.click();
    await page.getByRole('rowheader', { name: 'orders' }).waitFor({ state: 'detached' });
    assert.deepEqual(problems, []);
  });

  it('creates collections, and documents in them: finds them by key and by prefix, edits and deletes them', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Collections');
    await create(page, 'Create scope', { 'Scope name': 'inventory' });
    await page.getByRole('cell', { name: 'inventory', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Create collection' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Scope').selectOption('inventory');
    await dialog.getByLabel('Collection name').fill('airline');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'airline' }).click();

    await page.getByText('The collection has no documents.').waitFor();
    for (const key of ['airline_1', 'airline_2', 'hotel_1']) {
      await create(page, 'Create document', { Key: key, 'Document as JSON': `{"key":"${key}"}` }, 'Save');
      await page.getByRole('button', { name: key }).waitFor();
    }
    await page.getByLabel('Key or its beginning').fill('airline_');
    await page.getByRole('button', { name: 'Filter by beginning' }).click();
    await page.getByRole('button', { name: 'hotel_1' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'airline_2' }).waitFor();
    assert.equal(await page.getByRole('row').count(), 3);

    await page.getByLabel('Key or its beginning').fill('hotel_1');
    await page.getByRole('button', { name: 'Open this key' }).click();
    const text = dialog.getByLabel('Document as JSON');
    assert.equal(await codeIn(text), '{\n  "key": "hotel_1"\n}');
    await text.fill('{"key":');
    await dialog.getByText('This is not JSON').waitFor();
    assert.equal(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), true);
    await text.fill('{"key":"hotel_1","stars":12345678901234567890}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Open this key' }).click();
    assert.match(await codeIn(text), /"stars": 12345678901234567890\n/);

    await dialog.getByRole('button', { name: 'Delete document' }).click();
    await page.getByLabel('Name').fill('hotel_1');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Open this key' }).click();
    await dialog.getByText('The collection has no document with this key.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('shows both versions of a document that two people edit', async () => {
    await using opened = await signedIn();
    const { page } = opened;
    const path = '/pools/default/buckets/travel/docs/shared';
    const store = async (value: string) =>
      assert.equal((await node.request(path, 'POST', { value })).status, 200);
    await store('{"by":"nobody"}');
    await page.goto(`${node.ready.node.rest}/ui/#/documents/travel`);
    await page.getByRole('button', { name: 'shared' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Document as JSON').fill('{"by":"me"}');
    await store('{"by":"another"}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const conflict = dialog.getByRole('region', { name: 'Conflict' });
    await conflict.getByText('"by": "another"').waitFor();
    await conflict.getByText('{"by":"me"}').waitFor();
    await assertAccessible(page, 'conflict');
    await conflict.getByRole('button', { name: 'Continue with yours' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { json } = (await (await node.request(path)).json()) as { json: string };
    assert.equal(json, '{"by":"me"}');
  });

  it('changes the expiry and the attributes of a document, and nothing once another client has changed it', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    const path = '/pools/default/buckets/travel/docs/with%20attributes';
    const read = async () =>
      (await (await node.request(path)).json()) as {
        meta: { expiration: number };
        xattrs: object;
        json: string;
      };
    assert.equal((await node.request(path, 'POST', { value: '{"a":1}' })).status, 200);
    await page.goto(`${node.ready.node.rest}/ui/#/documents/travel`);
    await page.getByRole('button', { name: 'with attributes' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Expiry and extended attributes').click();
    await dialog.getByLabel('Extended attributes').fill('{"a.b": 1}');
    await dialog.getByText('The name “a.b” has one of the characters').waitFor();
    await dialog.getByLabel('Expires').fill('2050-01-02T03:04');
    await dialog.getByLabel('Extended attributes').fill('{"app": {"id": 9007199254740993}, "owner": 1}');
    await dialog.getByRole('button', { name: 'Save expiry and attributes' }).click();
    await dialog.getByText('Expiry and extended attributes: app, owner').click();
    const local = new Date('2050-01-02T03:04').getTime() / 1000;
    assert.match(await dialog.getByLabel('Extended attributes').inputValue(), /^\s*"id": 9007199254740993$/m);
    const stored = await (await node.request(path)).text();
    assert.ok(stored.includes('"xattrs":{"app":{"id":9007199254740993},"owner":1}'), stored);
    assert.equal((await read()).meta.expiration, local);
    await assertAccessible(page, 'attributes');

    await dialog.getByLabel('Document as JSON').fill('{"a":2}');
    await dialog.getByLabel('Expires').fill('');
    await dialog.getByLabel('Extended attributes').fill('{"owner": 1}');
    // Saves the document faster than any user: as soon as the new version is in the page, before the browser paints it.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const dialog = document.querySelector('dialog');
      if (dialog.querySelector('summary').textContent !== 'Expiry and extended attributes: owner') return;
      observer.disconnect();
      dialog.querySelector('button[type=submit]').click();
    }).observe(document, { childList: true, subtree: true, characterData: true })`);
    await dialog.getByRole('button', { name: 'Save expiry and attributes' }).click();
    await dialog.waitFor({ state: 'detached' });
    const saved = await read();
    assert.deepEqual([saved.meta.expiration, saved.xattrs, saved.json], [0, { owner: 1 }, '{"a":2}']);

    await page.getByRole('button', { name: 'with attributes' }).click();
    await dialog.getByText('Expiry and extended attributes').click();
    assert.equal((await node.request(path, 'POST', { value: '{"a":3}' })).status, 200);
    await dialog.getByLabel('Extended attributes').fill('{}');
    await dialog.getByRole('button', { name: 'Save expiry and attributes' }).click();
    await dialog.getByText('Another client has changed this document').waitFor();
    assert.deepEqual((await read()).xattrs, { owner: 1 });
    assert.deepEqual(problems, []);
  });

  /** Removes the documents of a bucket by the console, once its name is typed. */
  async function flush(page: Page, bucket: string): Promise<void> {
    const documents = `/pools/default/buckets/${bucket}/docs`;
    // The data service may not have the new bucket yet.
    await eventually(async () =>
      assert.equal((await node.request(`${documents}/a`, 'POST', { value: '1' })).status, 200),
    );
    await page.getByRole('row', { name: bucket }).getByRole('button', { name: 'Flush' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Remove all documents' });
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel('Name').fill(bucket);
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(await (await node.request(documents)).json(), { rows: [] });
  }

  /** Compacts a bucket by the console, and cancels a compaction that takes time. */
  async function compact(page: Page, bucket: string): Promise<void> {
    // The test answers with the task of a long compaction: that of a bucket without documents ends at once.
    let isRunning = false;
    const statuses: number[] = [];
    await page.route('**/pools/default/tasks', (route) => {
      const task = { type: 'bucket_compaction', status: 'running', bucket, progress: 40 };
      return isRunning ? route.fulfill({ json: [task] }) : route.continue();
    });
    await page.route(/BucketCompaction$|compactBucket$/, async (route) => {
      const response = await route.fetch();
      statuses.push(response.status());
      isRunning = route.request().url().endsWith('compactBucket');
      await route.fulfill({ response });
    });
    const row = page.getByRole('row', { name: bucket });
    await row.getByRole('button', { name: 'Compact' }).click();
    await row.getByRole('progressbar', { name: `Compaction of ${bucket}` }).waitFor();
    await row.getByRole('button', { name: 'Cancel' }).click();
    await row.getByRole('button', { name: 'Compact' }).waitFor();
    assert.deepEqual(statuses, [200, 200]);
  }

  async function signedIn() {
    const opened = await openPage(browser, node.ready.node.rest);
    await signIn(opened.page);
    await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    return opened;
  }
});

async function create(
  page: Page,
  button: string,
  fields: Readonly<Record<string, string>>,
  action = 'Create',
): Promise<void> {
  await page.getByRole('button', { name: button }).click();
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(fields))
    await dialog.getByLabel(label, { exact: true }).fill(value);
  await dialog.getByRole('button', { name: action }).click();
  await dialog.waitFor({ state: 'detached' });
}
