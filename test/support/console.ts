// The web console in a real browser: builds it if its sources have changed, opens its pages, and checks what every page must fulfil.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContextOptions,
  chromium as engine,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { chromium } from './needs.ts';
import { administrator } from './node-process.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
/** So long that only a test that hangs reaches it, also on a busy machine, which can be many times slower. */
const waitMs = 120_000;
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Builds the console if its sources have changed since `npm ci` or an earlier test built it. */
function buildConsole(): void {
  execFileSync(process.execPath, [`${checkout}tools/build-console.ts`], { stdio: 'inherit' });
}

export async function launchBrowser(): Promise<Browser> {
  buildConsole();
  return await engine.launch({ executablePath: chromium, args: ['--no-sandbox'], timeout: waitMs });
}

export interface Opened {
  readonly page: Page;
  /** Errors that the browser reports, without those about refused requests. */
  readonly problems: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a page in a browser profile of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  const problems: string[] = [];
  page.on('console', (line) => {
    const isRefusal = line.text().startsWith('Failed to load resource');
    if (line.type() === 'error' && !isRefusal) problems.push(line.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  await load(page, url);
  return { page, problems, [Symbol.asyncDispose]: () => context.close() };
}

const networkChanged = 'net::ERR_NETWORK_CHANGED';

/**
 * Loads the page again until no change of the network has interrupted it: when the machine gets or loses an address, as in tests with network
 * namespaces, Chromium ends connections that it is opening, and a page whose script it did not get stays empty.
 */
async function load(page: Page, url: string): Promise<void> {
  let isInterrupted: boolean;
  const note = (request: Request): void => {
    isInterrupted ||= request.failure()?.errorText === networkChanged;
  };
  page.on('requestfailed', note);
  do {
    isInterrupted = false;
    await page.goto(url).catch((error: Error) => {
      if (!error.message.includes(networkChanged)) throw error;
      isInterrupted = true;
    });
  } while (isInterrupted);
  page.off('requestfailed', note);
}

export async function signIn(
  page: Page,
  { username = administrator.username, password = administrator.password } = {},
): Promise<void> {
  await page.getByLabel('Name').fill(username);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Signs in to the console of the cloud. */
export async function signInToCloud(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Opens a page of the console by its menu entry. */
export async function goTo(page: Page, name: string): Promise<void> {
  // Before the sign-in there is neither a menu nor an entry.
  await page.getByRole('navigation', { name: 'Pages', includeHidden: true }).waitFor({ state: 'attached' });
  const menu = page.getByRole('button', { name: 'Menu' });
  const entry = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true });
  if ((await menu.isVisible()) && !(await entry.isVisible())) await menu.click();
  await entry.click();
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Opens a part of the cluster that the page of the cloud shows. */
export async function goToPart(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Cluster' }).getByRole('link', { name, exact: true }).click();
}

/** Waits until the page has received the data that it requested. */
export async function untilLoaded(page: Page): Promise<void> {
  const loading = page.locator('main .quiet', { hasText: /^Loading…$/ });
  await loading.first().waitFor({ state: 'detached' });
}

/** Waits until a page that was opened has moved the focus to its heading, so that it does not move it later. */
export async function untilFocused(page: Page, heading: string): Promise<void> {
  await page.locator('main h1:focus', { hasText: heading }).waitFor();
}

interface Editable {
  /** Value of a plain field. */
  readonly value?: string;
  querySelectorAll(selector: string): Iterable<{ readonly textContent: string }>;
}

/** The text of an editor of statements or documents. */
export const codeIn = (editor: Locator): Promise<string> =>
  editor.evaluate((element: Editable) => {
    const lines = Array.from(element.querySelectorAll('.cm-line'), ({ textContent }) => textContent);
    return element.value ?? lines.join('\n');
  });

/** Presses the tab key until the element with this text has the focus. */
export async function tabTo(page: Page, text: string): Promise<void> {
  const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""');
  for (let presses = 0; presses < 100; presses++) {
    if ((await focused()) === text) return;
    await page.keyboard.press('Tab');
  }
  assert.fail(`the keyboard does not reach ${text}`);
}

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

export type Theme = 'light' | 'dark';

/** In each theme, fails as `assertAccessible` does. The page stays loaded: only its styles depend on the theme. */
export async function assertAccessibleInThemes(
  page: Page,
  title: string,
  checked: (theme: Theme) => Promise<void> = async () => {},
): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, `${title}, ${colorScheme}`);
    await checked(colorScheme);
  }
}

/** Fails for a finding of axe-core that is serious or worse, and for a page that is wider than its window. */
export async function assertAccessible(page: Page, title: string): Promise<void> {
  // Half a megabyte of script, which a page keeps until it is loaded again.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe);
  const violations = await page.evaluate<AxeViolation[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const shown = serious.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
  assert.deepEqual(shown, [], title);
  const [content, width] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  assert.ok(content <= width, `${title}: ${content} pixels wide in a window of ${width}`);
}

/** Keeps a picture of the page in `test-results`, for people who look at a change of the console. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const file = `${name.toLowerCase().replaceAll(' ', '-')}.png`;
  await page.screenshot({ path: `${checkout}test-results/console/${file}`, animations: 'disabled' });
}

/** The compressed size of the scripts that the browser loads before it shows the sign-in. */
export async function firstViewScriptBytes(browser: Browser, url: string, label = 'Name'): Promise<number> {
  await using opened = await openPage(browser, 'about:blank');
  const { page } = opened;
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    if (!response.url().endsWith('.js')) return;
    assert.equal(response.headers()['content-encoding'], 'gzip');
    sizes.push(response.headerValue('content-length').then(Number));
  });
  await page.goto(url);
  await page.getByLabel(label).waitFor();
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
