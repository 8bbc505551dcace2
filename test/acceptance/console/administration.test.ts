// Pages of the console beyond documents: queries, indexes, backups, users, settings, metrics, servers, replication.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  codeIn,
  goTo,
  keepScreenshot,
  launchBrowser,
  openPage,
  signIn,
} from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { eventuallyWithin, NodeProcess } from '../../support/node-process.ts';

const waitMs = 240_000;
const tenThousand = 'ARRAY_RANGE(0, 10000)';
/** A statement that takes longer than any test waits. */
const endless = `SELECT COUNT(*) FROM ${tenThousand} a, ${tenThousand} b, ${tenThousand} c`;

describe('the console', { skip: needs('chromium') }, () => {
  let browser: Browser;
  let node: NodeProcess;
  before(async () => {
    browser = await launchBrowser();
    node = await NodeProcess.start({ args: ['--bucket', 'travel', '--services', 'kv,index,n1ql,backup'] });
    for (const name of ['Air A', 'Air B']) {
      const value = JSON.stringify({ name });
      const path = `/pools/default/buckets/travel/docs/${encodeURIComponent(name)}`;
      assert.equal((await node.request(path, 'POST', { value })).status, 200);
    }
  });
  after(async () => {
    await browser?.close();
    await node?.[Symbol.asyncDispose]();
  });

  it('runs statements, shows rows and errors, explains the plan, keeps statements', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Query');
    const run = async (statement: string) => {
      await page.getByLabel('Statement', { exact: true }).fill(statement);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
    };
    await run('SELEC 1');
    await page.getByRole('alert').getByText('(code 3000)').waitFor();
    await run('CREATE INDEX by_name ON travel(name)');
    await page.getByText('The statement has no rows.').waitFor();
    await page.getByLabel('Parameters').fill('{"$name": "Air A", "$large": 9007199254740993}');
    await run(
      'SELECT t.name, {"n": 1} AS o, $large AS l FROM travel AS t WHERE t.name = $name AND $large = 9007199254740993',
    );
    await page.getByRole('cell', { name: 'Air A' }).waitFor();
    await page.getByRole('cell', { name: '{"n":1}' }).waitFor();
    await page.getByRole('cell', { name: '9007199254740993' }).waitFor();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await page.getByText('"name": "Air A"').waitFor();
    await page.getByText('"l": 9007199254740993').waitFor();
    await page.getByRole('button', { name: 'Tree', exact: true }).click();
    await page.getByText('0 (3 fields)').click();
    await page.getByText('name: "Air A"').waitFor();
    await page.getByText('l: 9007199254740993').waitFor();
    await assertAccessible(page, 'results');
    await page.getByRole('button', { name: 'Explain' }).click();
    const plan = page.getByRole('region', { name: 'Plan' });
    await plan.getByText('Scans the index by_name').waitFor();
    await plan.locator('.step', { hasText: 'IndexScan3' }).getByText('by_name').waitFor();
    await assertAccessible(page, 'plan');
    await page.getByText('Saved statements (0)').click();
    await page.getByLabel('Name for this statement').fill('By name');
    await page.getByRole('button', { name: 'Save statement' }).click();
    await page.reload();
    await page.getByText('Saved statements (1)').click();
    await page.getByRole('button', { name: 'By name', exact: true }).click();
    assert.match(await codeIn(page.getByLabel('Statement', { exact: true })), /^SELECT t.name/);
    await page.getByText('Earlier statements').click();
    await page.getByRole('button', { name: 'CREATE INDEX by_name ON travel(name)' }).waitFor();

    await goTo(page, 'Indexes');
    await page.getByRole('rowheader', { name: 'by_name' }).waitFor();
    await page.getByRole('button', { name: 'Drop by_name' }).click();
    await page.getByLabel('Name', { exact: true }).fill('by_name');
    await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByText('There are no indexes.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('colours statements in an editor that the tab key leaves, and takes them where the editor cannot be loaded', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Query');
    const statement = page.getByLabel('Statement', { exact: true });
    await page.locator('.cm-content').waitFor();
    await statement.fill('SELECT /* of\ntwo lines */ "text" AS `select`, 12.5 AS n');
    const tokens = await page.evaluate<[text: string, colour: string][]>(`{
      const { shadowRoot } = [...document.querySelectorAll('main div')].find((each) => each.shadowRoot);
      const tokens = [...shadowRoot.querySelectorAll('.cm-line span')];
      tokens.map((token) => [token.textContent, getComputedStyle(token).color]);
    }`);
    const texts = tokens.map(([text]) => text);
    assert.deepEqual(texts, ['SELECT', '/* of', 'two lines */', '"text"', 'AS', '12.5', 'AS']);
    assert.equal(new Set(tokens.map(([, colour]) => colour)).size, 4);
    // What is typed over coloured text: the browser would keep the colour by an inline style.
    await statement.press('Control+A');
    await page.keyboard.type('SELECT 3');
    await page.keyboard.press('Enter');
    await page.keyboard.type('AS three');
    assert.equal(await codeIn(statement), 'SELECT 3\nAS three');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('cell', { name: '3', exact: true }).waitFor();
    await statement.focus();
    await page.keyboard.press('Tab');
    await page.getByLabel('Parameters').and(page.locator(':focus')).waitFor();
    assert.deepEqual(problems, []);

    await page.route('**/code-editor-*.js', (route) => route.abort());
    await page.reload();
    await statement.fill('SELECT 4 AS four');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('cell', { name: '4', exact: true }).waitFor();
    assert.equal(await page.locator('.cm-content').count(), 0);
  });

  it('advises on indexes, and infers the fields of a collection', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Query');
    await page.getByLabel('Statement', { exact: true }).fill('SELECT * FROM travel WHERE city = "Oslo"');
    await page.getByRole('button', { name: 'Advise' }).click();
    await page.getByRole('region', { name: 'Advice' }).getByText('CREATE INDEX').first().waitFor();
    await assertAccessible(page, 'advice');
    await page.getByRole('button', { name: 'Use as statement' }).first().click();
    assert.match(await codeIn(page.getByLabel('Statement', { exact: true })), /^CREATE INDEX .*city/);
    await page.getByText('Fields of a collection').click();
    await page.getByLabel('Collection', { exact: true }).fill('travel');
    await page.getByRole('button', { name: 'Infer fields' }).click();
    await page.getByRole('rowheader', { name: 'name', exact: true }).waitFor();
    await page.getByRole('cell', { name: '100 %' }).waitFor();
    await assertAccessible(page, 'fields');
    assert.deepEqual(problems, []);
  });

  it('creates a repository, backs up, shows what a restore would change, and restores', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    const dialog = page.getByRole('dialog');
    await goTo(page, 'Backups');
    await page.getByRole('button', { name: 'Create a repository' }).click();
    await dialog.getByLabel('Repository').fill('daily');
    await dialog.getByLabel('Folder').fill('/etc');
    await dialog.getByLabel('Bucket').selectOption('travel');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('invalid archive location: ').waitFor();
    await assertAccessible(page, 'a repository');
    await dialog.getByLabel('Folder').fill(join(node.dataDir, 'backups', 'daily'));
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('cell', { name: 'paused' }).waitFor();
    await page.getByRole('link', { name: 'daily' }).click();
    const rows = page.getByRole('region', { name: 'Backups' }).locator('tbody tr');
    await page.getByRole('button', { name: 'Back up now' }).click();
    await rows.nth(0).waitFor();
    await page.getByRole('button', { name: 'Back up everything' }).click();
    await rows.nth(1).waitFor();
    await page.getByRole('img', { name: '2 backups by time' }).locator('circle').nth(1).waitFor();
    await assertAccessible(page, 'backups of a repository');
    await keepScreenshot(page, 'backups of a repository');

    const path = '/pools/default/buckets/travel/docs/Air%20A';
    assert.equal((await node.request(path, 'DELETE')).status, 200);
    await page
      .getByRole('button', { name: /^Restore/ })
      .first()
      .click();
    const preview = dialog.getByRole('region', { name: 'What would change' });
    await preview.getByText('new ones are written').waitFor();
    await dialog.getByLabel('Also replace what has changed or was deleted since').check();
    await preview.getByText('all are written').waitFor();
    await preview.getByRole('rowheader', { name: 'travel._default._default' }).waitFor();
    await assertAccessible(page, 'preview of a restore');
    await keepScreenshot(page, 'preview of a restore');
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await eventuallyWithin(waitMs, async () => assert.equal((await node.request(path)).status, 200));
    await page.getByRole('region', { name: 'Tasks' }).getByRole('rowheader', { name: 'restore' }).waitFor();

    await page.getByRole('link', { name: 'All repositories' }).click();
    await page.getByRole('button', { name: 'Archive daily' }).click();
    await dialog.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('button', { name: 'Forget daily' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('daily');
    await dialog.getByRole('button', { name: 'Forget' }).click();
    await page.getByText('There are no repositories.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('cancels a statement, which then does not run any more', async () => {
    await using opened = await signedIn();
    const { page } = opened;
    await goTo(page, 'Query');
    await page.getByLabel('Statement', { exact: true }).fill(endless);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await eventuallyWithin(waitMs, async () => assert.deepEqual(await runningStatements(), [endless]));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('The statement runs…').waitFor({ state: 'detached' });
    await eventuallyWithin(waitMs, async () => assert.deepEqual(await runningStatements(), []));
  });

  it('creates, edits and deletes a user', async () => {
    await using opened = await signedIn();
    const { page, problems } = opened;
    await goTo(page, 'Security');
    await page.getByRole('button', { name: 'Create user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('User').fill('app');
    await dialog.getByLabel('Password').fill('abc');
    await dialog.getByLabel('Role', { exact: true }).selectOption('data_reader');
    await dialog.getByLabel('For').fill('travel');
    await dialog.getByRole('button', { name: 'Add role' }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.locator('.problem').waitFor();
    await assertAccessible(page, 'create a user');
    await dialog.getByLabel('Password').fill('app-password');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('cell', { name: 'data_reader[travel]' }).waitFor();
    await page.getByRole('button', { name: 'Edit app' }).click();
    await dialog.getByLabel('Full name').fill('The application');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'The application' }).waitFor();
    const path = '/settings/rbac/users/local/app';
    const stored = (await (await node.request(path)).json()) as { roles: { role: string }[] };
    assert.deepEqual(
      stored.roles.map(({ role }) => role),
      ['data_reader'],
    );
    await page.getByRole('button', { name: 'Delete app' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('app');
    await page.getByRole('button', { name: 'Delete user' }).click();
    await page.getByText('There is only the administrator.').waitFor();
    assert.deepEqual(problems, []);
  });

  it('saves settings, and shows the problem of a field there', async () => {
    await using opened = await signedIn();
    const { page } = opened;
    await goTo(page, 'Settings');
    const cluster = page.getByRole('region', { name: 'Cluster' });
    await cluster.getByLabel('Cluster name').fill('Amsterdam');
    await cluster.getByRole('button', { name: 'Save' }).click();
    await cluster.getByText('Saved.').waitFor();
    const { clusterName } = (await (await node.request('/pools/default')).json()) as { clusterName: string };
    assert.equal(clusterName, 'Amsterdam');
    const compaction = page.getByRole('region', { name: 'Compaction' });
    await compaction.getByLabel('unused share').fill('1');
    await compaction.getByRole('button', { name: 'Save' }).click();
    await compaction.locator('.problem').waitFor();
    await compaction.getByLabel('unused share').fill('40');
    await compaction.getByRole('button', { name: 'Save' }).click();
    await compaction.getByText('Saved.').waitFor();
    for (const name of ['Automatic failover', 'Passwords', 'Connections']) {
      const section = page.getByRole('region', { name });
      await section.getByRole('button', { name: 'Save' }).click();
      await section.getByText('Saved.').waitFor();
    }
  });

  it('draws the metrics of a bucket, and any metric by name and function', async () => {
    await using opened = await signedIn();
    const { page } = opened;
    await goTo(page, 'Metrics');
    await page.getByLabel('Board').selectOption('bucket travel');
    await page.getByLabel('Interval').selectOption('60');
    const documents = page.getByRole('figure', { name: 'Documents', exact: true });
    await documents.getByText('travel: 2').waitFor();
    await documents.locator('polyline').waitFor({ state: 'attached' });
    await page.getByLabel('Any other metric').fill('kv_curr_items');
    await page.getByLabel('Function').selectOption('max_over_time');
    await page.getByRole('figure', { name: 'max_over_time(kv_curr_items)' }).waitFor();
  });

  it('says why a node cannot be added, and why a cluster cannot be replicated to', async () => {
    await using opened = await signedIn();
    const { page } = opened;
    await goTo(page, 'Servers');
    await page.getByRole('button', { name: 'Add a node' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('127.0.0.1:1');
    await dialog.getByLabel('Password').fill('password');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('alert').locator('p').waitFor();
    await page.keyboard.press('Escape');
    await goTo(page, 'Replication');
    await page.getByRole('button', { name: 'Add a cluster' }).click();
    await dialog.getByLabel('Cluster name').fill('other');
    await dialog.getByLabel('Address').fill('127.0.0.1:1');
    await dialog.getByLabel('User of that cluster').fill('a');
    await dialog.getByLabel('Password of that user').fill('b');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('alert').locator('p').waitFor();
  });

  /** The statements that the query service runs, without the one that asks for them. */
  async function runningStatements(): Promise<string[]> {
    const own = 'SELECT RAW statement FROM system:active_requests WHERE statement NOT LIKE "%active%"';
    const answer = await node.request('/_p/query/query/service', 'POST', { statement: own });
    return ((await answer.json()) as { results: string[] }).results;
  }

  async function signedIn() {
    const opened = await openPage(browser, node.ready.node.rest);
    await signIn(opened.page);
    await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    return opened;
  }
});
