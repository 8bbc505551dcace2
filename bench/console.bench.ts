// The web console in Chromium: its first view, a list of 100,000 documents that scrolls, and what an open console costs the node.
// Goals: first view below 0.5 s, no frame above 50 ms, at most 0.5 % of a core.
import type { Page } from 'playwright-core';
import { goTo, launchBrowser, openPage, signIn } from '../test/support/console.ts';
import { NodeProcess } from '../test/support/node-process.ts';
import { processMs } from './support/server-usage.ts';

/** Documents that the list reads at a time. */
const pageSize = 500;
/** Each frame scrolls by thirty rows of the list, of 40 pixels each. */
const framePixels = 30 * 40;

interface Frames {
  readonly count: number;
  readonly longestMs: number;
  readonly p99Ms: number;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const documents = smoke ? 1_000 : 100_000;
  await using node = await NodeProcess.start({ args: ['--bucket', 'travel'] });
  await fill(node, documents);
  const browser = await launchBrowser();
  try {
    await firstView(browser, node, smoke ? 1 : 5);
    await using opened = await openPage(browser, node.ready.node.rest);
    const { page } = opened;
    await signIn(page);
    await goTo(page, 'Documents');
    await scroll(page, documents);
    await idle(page, node, smoke ? 200 : 30_000);
  } finally {
    await browser.close();
  }
}

async function fill(node: NodeProcess, documents: number): Promise<void> {
  const part = 20_000;
  for (let from = 0; from < documents; from += part) {
    const to = Math.min(documents, from + part);
    const statement = `UPSERT INTO travel (KEY k, VALUE v) SELECT "key_" || SUBSTR(TO_STRING(1000000 + n), 1) AS k, {"n": n, "name": "Document " || TO_STRING(n)} AS v FROM ARRAY_RANGE(${from}, ${to}) AS n`;
    const { status } = await node.request('/_p/query/query/service', 'POST', { statement });
    if (status !== 200) throw new Error(`the documents from ${from} are not written: ${status}`);
  }
}

/** Prints the time until the form of the sign-in can be used: the median of several new browser profiles. */
async function firstView(
  browser: Awaited<ReturnType<typeof launchBrowser>>,
  node: NodeProcess,
  rounds: number,
) {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    await using opened = await openPage(browser, 'about:blank');
    const startedMs = performance.now();
    await opened.page.goto(`${node.ready.node.rest}/ui/`);
    await opened.page.getByLabel('Name').waitFor();
    times.push(performance.now() - startedMs);
  }
  console.log(`first view: ${times.sort((a, b) => a - b)[rounds >> 1]?.toFixed(0)} ms (median of ${rounds})`);
}

/** Reads the list page by page to its end, then scrolls through it from its start. */
async function scroll(page: Page, documents: number): Promise<void> {
  const list = page.getByRole('region', { name: 'Documents' });
  await list.waitFor();
  const startedMs = performance.now();
  const loading = recordFrames(page);
  for (let read = pageSize; read < documents; read += pageSize) {
    await page.getByText(`${read.toLocaleString('en')} documents, and more`).waitFor();
    await list.press('End');
  }
  await page.getByText(new RegExp(`^${documents.toLocaleString('en')} documents$`)).waitFor();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  await page.evaluate('globalThis.stopFrames = true');
  console.log(`${documents} documents read in ${seconds} s: ${text(await loading)}`);
  const work = await pageWork(page);
  const frames = await page.evaluate<Frames>(`(async () => {
    const element = document.querySelector('.virtual');
    element.scrollTop = 0;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await frame();
    const times = [];
    let beforeMs = await frame();
    while (element.scrollTop + element.clientHeight < element.scrollHeight - 1) {
      element.scrollTop += ${framePixels};
      const nowMs = await frame();
      times.push(nowMs - beforeMs);
      beforeMs = nowMs;
    }
    times.sort((a, b) => a - b);
    return { count: times.length, longestMs: times.at(-1) ?? 0, p99Ms: times[Math.floor(times.length * 0.99)] ?? 0 };
  })()`);
  const each = (1000 * (await work())) / Math.max(1, frames.count);
  console.log(
    `scrolled from the first to the last: ${text(frames)}, ${each.toFixed(1)} ms of processor time for a frame`,
  );
}

/** The result returns the seconds of processor time that the page has taken since this call; on a busy machine frames wait longer than they work. */
async function pageWork(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const totalSeconds = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  const secondsBefore = await totalSeconds();
  return async () => (await totalSeconds()) - secondsBefore;
}

/** Records the frames of the page until its variable `stopFrames` is set. */
function recordFrames(page: Page): Promise<Frames> {
  return page.evaluate<Frames>(`(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const times = [];
    let beforeMs = await frame();
    while (!globalThis.stopFrames) {
      const nowMs = await frame();
      times.push(nowMs - beforeMs);
      beforeMs = nowMs;
    }
    times.sort((a, b) => a - b);
    return { count: times.length, longestMs: times.at(-1) ?? 0, p99Ms: times[Math.floor(times.length * 0.99)] ?? 0 };
  })()`);
}

const text = ({ count, longestMs, p99Ms }: Frames): string =>
  `${count} frames, p99 ${p99Ms.toFixed(1)} ms, longest ${longestMs.toFixed(1)} ms`;

async function idle(page: Page, node: NodeProcess, ms: number): Promise<void> {
  const share = async () => {
    const [cpuBeforeMs, startedMs] = [processMs(node.pid), performance.now()];
    await new Promise((resolve) => setTimeout(resolve, ms));
    return (processMs(node.pid) - cpuBeforeMs) / (performance.now() - startedMs);
  };
  await goTo(page, 'Overview');
  const open = await share();
  await page.goto('about:blank');
  const closed = await share();
  const percent = (part: number) => `${(100 * part).toFixed(2)} %`;
  console.log(`idle node with an open console ${percent(open)} of a core, without ${percent(closed)}`);
}
