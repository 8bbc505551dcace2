// Documents in bulk in the console: import and export of JSON lines, and a list of many documents.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertAccessible, launchBrowser, openPage, signIn } from '../../support/console.ts';
import { needs } from '../../support/needs.ts';
import { NodeProcess } from '../../support/node-process.ts';

const docs = '/pools/default/buckets/travel/docs';
/** The longest line that an import accepts. */
const lineBytesMax = 10 << 20;
/** The lines of the import that is cancelled, and the documents that it stores before. */
const cancelledLines = 2_000;
const storedBeforeCancel = 20;
const listedDocuments = 3_000;
/** The documents that the page reads at a time. */
const readAtOnce = 500;

describe('documents in bulk in the console', { skip: needs('chromium') }, () => {
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

  it('imports JSON lines, reports broken ones by their number, and exports the documents again', async () => {
    await using opened = await openDocuments();
    const { page, problems } = opened;
    const long = 'x'.repeat(lineBytesMax + 1);
    const lines = [
      '{"_key":"in_1","stars":12345678901234567890}',
      '{"_key":"in_2",',
      '',
      '{"name":"without a key"}',
      '["in_3"]',
      `{"_key":"in_4","text":"${long}"}`,
      '{"_key":7,"text":"é"}',
      Buffer.from([0x7b, 0xff, 0x7d]),
      '{"_key":"in_9","last":true}',
    ];
    const buffer = Buffer.concat(
      lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')]).slice(0, -1),
    );
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByLabel('File of JSON lines')
      .setInputFiles({ name: 'lines.jsonl', mimeType: 'application/jsonl', buffer });
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.getByText('3 documents stored, 5 lines refused.').waitFor();
    await assertAccessible(page, 'import');
    const refused = await dialog
      .getByRole('region', { name: 'Refused lines' })
      .getByRole('row')
      .allTextContents();
    // Without the header; each text is that of both cells, number and problem.
    const texts = refused.slice(1).sort();
    assert.equal(texts.length, 5);
    for (const [index, expected] of [
      '2is not JSON',
      '4has no text',
      '5is not an object',
      '6is longer than',
      '8is not UTF-8',
    ].entries())
      assert.ok(texts[index]?.startsWith(expected), texts[index]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'in_9' }).waitFor();
    const stored = (await (await node.request(`${docs}/in_1`)).json()) as { json: string };
    assert.equal(stored.json, '{"stars":12345678901234567890}');

    await page.getByRole('button', { name: 'Export' }).click();
    await dialog.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('link', { name: 'Save travel._default._default.jsonl' }).click(),
    ]);
    assert.deepEqual((await readFile(await download.path(), 'utf8')).split('\n'), [
      '{"_key":"7","text":"é"}',
      '{"_key":"in_1","stars":12345678901234567890}',
      '{"_key":"in_9","last":true}',
      '',
    ]);
    assert.deepEqual(problems, []);
  });

  it('cancels an import, and keeps the documents that were stored before', async () => {
    await using opened = await openDocuments();
    const { page } = opened;
    const line = (_: unknown, index: number) => JSON.stringify({ _key: `cancelled_${index}` });
    const buffer = Buffer.from(Array.from({ length: cancelledLines }, line).join('\n'));
    let sent = 0;
    // Further requests get no answer, so that the import is cancelled in its middle on a machine of any speed.
    await page.route('**/docs/**', (route) =>
      route.request().method() !== 'POST' || ++sent <= storedBeforeCancel ? route.continue() : undefined,
    );
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByLabel('File of JSON lines')
      .setInputFiles({ name: 'many.jsonl', mimeType: 'application/jsonl', buffer });
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.getByRole('progressbar').waitFor();
    await dialog.getByText(`${storedBeforeCancel} documents stored, 0 lines refused so far`).waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByText(`Cancelled: ${storedBeforeCancel} documents stored, 0 lines refused`).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'cancelled_0', exact: true }).waitFor();
  });

  it('scrolls through all documents of a collection, with only the rows in sight in the page', async () => {
    const statement = `UPSERT INTO travel (KEY k, VALUE v) SELECT "many_" || SUBSTR(TO_STRING(100000 + n), 1) AS k, {"n": n} AS v FROM ARRAY_RANGE(0, ${listedDocuments}) AS n`;
    assert.equal((await node.request('/_p/query/query/service', 'POST', { statement })).status, 200);
    await using opened = await openDocuments();
    const { page, problems } = opened;
    await page.getByLabel('Key or its beginning').fill('many_');
    await page.getByRole('button', { name: 'Filter by beginning' }).click();
    await page.getByRole('button', { name: 'many_00000' }).waitFor();
    const list = page.getByRole('region', { name: 'Documents' });
    for (let read = readAtOnce; read <= listedDocuments; read += readAtOnce) {
      await page
        .getByText(
          read < listedDocuments ? `${read.toLocaleString('en')} documents, and more` : '3,000 documents',
        )
        .waitFor();
      await list.press('End');
    }
    await page.getByRole('button', { name: 'many_02999' }).waitFor();
    assert.ok((await list.getByRole('row').count()) < 100);
    assert.equal(await page.getByRole('button', { name: 'many_00000' }).count(), 0);
    await assertAccessible(page, 'a long list');
    assert.deepEqual(problems, []);
  });

  async function openDocuments() {
    const opened = await openPage(browser, node.ready.node.rest);
    await signIn(opened.page);
    await goToDocuments(opened.page);
    return opened;
  }

  async function goToDocuments(page: Page): Promise<void> {
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.goto(`${node.ready.node.rest}/ui/#/documents/travel`);
    await page.getByRole('heading', { level: 1, name: 'Documents' }).waitFor();
  }
});
