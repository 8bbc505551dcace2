// Makes the pictures of the manual, `docs/images`, from the console of a node with sample data. Run after a visible change of the console:
// `node tools/manual-images.ts`. It needs Chromium.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { goTo, launchBrowser, openPage, signIn } from '../test/support/console.ts';
import { administrator, launcher, NodeProcess } from '../test/support/node-process.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
const viewport = { width: 1100, height: 760 };
const quality = 75;
const statement = [
  'SELECT a.name, COUNT(*) AS routes -- of each airline',
  'FROM `travel-sample`.inventory.route AS r',
  'JOIN `travel-sample`.inventory.airline AS a ON META(a).id = r.airlineid',
  'WHERE r.sourceairport = "SFO"',
  'GROUP BY a.name ORDER BY routes DESC LIMIT 5',
].join('\n');

mkdirSync(folder, { recursive: true });
const browser = await launchBrowser();
await using node = await NodeProcess.start();
try {
  const { rest } = node.ready.node;
  execFileSync(process.execPath, [launcher, 'sample', 'travel', '--url', rest], {
    env: { ...process.env, DIVAN_PASSWORD: administrator.password },
    stdio: 'inherit',
  });
  await using opened = await openPage(browser, rest, { colorScheme: 'light', viewport });
  const { page } = opened;
  await signIn(page);
  await takeAll(page, rest);
} finally {
  await browser.close();
}

async function takeAll(page: Page, rest: string): Promise<void> {
  await goTo(page, 'Buckets');
  await page.getByRole('rowheader', { name: 'travel-sample' }).waitFor();
  await capture(page, 'console-buckets');
  await page.goto(`${rest}/ui/#/documents/travel-sample/inventory/airline`);
  await page.getByRole('rowheader').first().getByRole('button').click();
  await page.locator('.cm-content').waitFor();
  await capture(page, 'console-document');
  await page.keyboard.press('Escape');
  await goTo(page, 'Query');
  await page.locator('.cm-content').waitFor();
  await page.getByLabel('Statement', { exact: true }).fill(statement);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('columnheader', { name: 'routes' }).waitFor();
  await capture(page, 'console-query');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.locator('.plan .step').first().waitFor();
  await page.getByRole('region', { name: 'Plan' }).scrollIntoViewIfNeeded();
  await capture(page, 'console-plan');
}

/** Writes a picture as WebP, which takes a quarter of the bytes of PNG; Playwright itself writes no WebP. */
async function capture(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality });
  writeFileSync(`${folder}${name}.webp`, Buffer.from(data, 'base64'));
}
