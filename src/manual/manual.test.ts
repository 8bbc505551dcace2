import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { manualPages } from './contents.ts';
import { splitPage } from './headings.ts';
import { Manual } from './manual.ts';
import { readManualFile } from './manual-files.adapter.ts';
import { renderPage } from './render.ts';
import { ManualIndex } from './search.ts';
import { manualImage, manualSite } from './site.ts';

test('the contents name every page of docs/, and no other', async () => {
  const files = manualPages.map(({ file }) => file).filter((file) => file.startsWith('docs/'));
  assert.deepEqual(files.sort(), globSync('docs/**/*.md').sort());
  const manual = new Manual(readManualFile, realClock);
  for (const { path, title } of manualPages) {
    const html = await manual.page(path);
    assert.match(html as string, new RegExp(`<title>${title} · Divan</title>`));
    assert.match(html as string, /aria-current="page"/);
  }
  assert.equal(manual.page('guides/none'), null);
  assert.equal(manual.page('../package.json'), null);
});

test('the site loads the manual again after a failure, and once for all requests', async () => {
  let loads = 0;
  const site = manualSite(realClock, async (clock) => {
    if (++loads === 1) throw new Error('too many open files');
    return { manual: new Manual(readManualFile, clock), policy: 'a policy' };
  });
  const firsts = await Promise.allSettled([site('guides/none'), site('guides/none')]);
  assert.deepEqual(
    firsts.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  const answers = await Promise.all([site('guides/none'), site('guides/none')]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 404],
  );
  assert.equal(loads, 2);
});

test('every link to another page or heading leads somewhere', async () => {
  const manual = new Manual(readManualFile, realClock);
  const ids = new Map<string, Set<string>>();
  const pages = new Map<string, string>();
  for (const { path } of manualPages) {
    const html = (await manual.page(path)) as string;
    pages.set(path, html);
    ids.set(`/docs/${path}`, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id as string)));
  }
  let links = 0;
  for (const [path, html] of pages)
    for (const [, href] of html.matchAll(/<a href="([^"]+)"/g)) {
      const [target = '', anchor] = (href as string).split('#') as [string, string?];
      if (/^https?:/.test(target) || target === '/docs/api') continue;
      const anchors = ids.get(target === '' ? `/docs/${path}` : target);
      assert.ok(anchors, `${path} links to ${href}`);
      if (anchor !== undefined) assert.ok(anchors.has(anchor), `${path} links to ${href}`);
      links++;
    }
  assert.ok(links > 500, `${links} links`);
});

test('every picture of docs/images is in a page and small, and pages have no others', async () => {
  const files = globSync('docs/images/*').sort();
  const shown = new Set<string>();
  for (const { file } of manualPages)
    for (const [, src] of (await renderPage(readFileSync(file, 'utf8'), file, realClock)).matchAll(
      /<img src="\/([^"]+)" alt="[^"]+">/g,
    ))
      shown.add(src as string);
  assert.deepEqual([...shown].sort(), files);
  assert.ok(files.length > 0 && files.length <= 6, `${files.length} pictures`);
  for (const file of files) assert.ok(statSync(file).size < 60_000, `${file}: ${statSync(file).size} bytes`);
});

test('the site shows the body of every error as one piece of code', async () => {
  const file = 'docs/reference/errors.md';
  const html = await renderPage(readFileSync(file, 'utf8'), file, realClock);
  const bodies = [...html.matchAll(/<tr>\n<td>([^<]*)<\/td>\n<td>\d+<\/td>\n<td>(.*)<\/td>/g)];
  assert.ok(bodies.length > 250, `${bodies.length} errors`);
  for (const [, name, body] of bodies) assert.match(body as string, /^(<code>[^<]+<\/code>)?$/, name);
});

test('the site shows pictures of the manual, and no other images', async () => {
  const images =
    '![A list](../images/a-list.webp) ![](../images/x.svg) ![](https://example.com/a.webp) ![](../../a.webp)';
  const html = await renderPage(images, 'docs/guides/cloud.md', realClock);
  assert.equal(html, '<p><img src="/docs/images/a-list.webp" alt="A list">   </p>\n');
  for (const name of ['none.webp', '..%2Fglossary.md', '../glossary.md', 'a.png'])
    assert.equal(await manualImage(name), null, name);
});

test('the manual renders tables, code, anchors and links; HTML in a page is text', async () => {
  const html = await renderPage(
    [
      '# A `b` page',
      'See [queries](query.md#first-query), [the code](../../src/main/divan.ts), [a site](https://example.com/?a=1&b=2).',
      'Text <script>alert(1)</script> and <name>, [bad](javascript:alert(1)).',
      '| a | b |\n|---|---|\n| `x` | y |',
      '```\n# no heading <b>\n```',
    ].join('\n\n'),
    'docs/guides/cloud.md',
    realClock,
  );
  assert.match(html, /<h1 id="a-b-page">A <code>b<\/code> page<\/h1>/);
  assert.match(html, /<a href="\/docs\/guides\/query#first-query">queries<\/a>, the code,/);
  assert.match(html, /<a href="https:\/\/example.com\/\?a=1&amp;b=2">a site<\/a>/);
  assert.match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt; and &lt;name&gt;, bad\./);
  assert.match(html, /<td><code>x<\/code><\/td>/);
  assert.match(html, /<code># no heading &lt;b&gt;\n<\/code>/);
});

test('the manual splits a page at its headings, but not in code', () => {
  assert.deepEqual(splitPage('# A page\none\n```\n# code\n```\n## Two words\ntwo'), [
    { heading: 'A page', anchor: '', text: 'one\n```\n# code\n```\n' },
    { heading: 'Two words', anchor: 'two-words', text: 'two\n' },
  ]);
});

test('repeated headings of a page have anchors of their own, the same in the page and in the search', async () => {
  const page = '# Changes\n## Fixed\none\n## Queries\ntwo\n## Fixed\nthree\n## Fixed\nfour';
  const html = await renderPage(page, 'CHANGELOG.md', realClock);
  const anchors = ['fixed', 'queries', 'fixed-1', 'fixed-2'];
  assert.deepEqual(
    [...html.matchAll(/<h2 id="([^"]*)"/g)].map(([, id]) => id),
    anchors,
  );
  assert.deepEqual(
    splitPage(page).map(({ anchor }) => anchor),
    ['', ...anchors],
  );
});

test('the search does not prefer the headings that the list of changes repeats', () => {
  const index = new ManualIndex();
  const repeatsHeadings = true;
  index.add({ path: 'c', file: 'C.md', title: 'Changes', repeatsHeadings }, '# C\n## Backup\nA backup.');
  index.add({ path: 'p', file: 'p.md', title: 'Page' }, '# P\n## Backup\nA thing.');
  assert.deepEqual(
    index.search('backup').map(({ page }) => page.path),
    ['p', 'c'],
  );
});

test('the search finds the parts that have all words, those with the words in their heading first', () => {
  const page = { path: 'p', file: 'docs/p.md', title: 'Page' };
  const index = new ManualIndex();
  index.add(
    page,
    '# Page\nIt has *indexes* and a `bucket`.\n## Bucket types\nA bucket, an index.\n## Other\nNothing about buckets.',
  );
  assert.deepEqual(
    index.search('BUCKET index').map(({ heading, anchor, excerpt }) => [heading, anchor, excerpt]),
    [
      ['Bucket types', 'bucket-types', 'A bucket, an index.'],
      ['Page', '', 'It has indexes and a bucket .'],
    ],
  );
  assert.deepEqual(index.search('absent bucket'), []);
  assert.deepEqual(index.search('  '), []);
  assert.equal(index.search(`${'a '.repeat(100_000)}`).length, 3);
});

test('the search shows what was entered as text, and finds pages', async () => {
  const manual = new Manual(readManualFile, realClock);
  assert.match(await manual.search('"><script>'), /value="&quot;&gt;&lt;script&gt;"/);
  assert.match(await manual.search('covering index'), /<a href="\/docs\/guides\/query#/);
  assert.match(await manual.search(''), /Enter the words/);
});
