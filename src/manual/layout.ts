// The frame of each page of the manual: the list of pages and the search field. It has no scripts and nothing of other sites.
import { createHash } from 'node:crypto';
import { escapeHtml } from '#base/html.ts';
import { type ManualPage, manualContents } from './contents.ts';
import { type FoundPart, queryLengthMax } from './search.ts';

const style = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--accent:light-dark(#0550ae,#79b8ff);font:16px/1.55 system-ui,sans-serif}
*{box-sizing:border-box}
body{margin:0;display:grid;grid-template-columns:16rem minmax(0,1fr)}
a{color:var(--accent)}
header{border-right:1px solid var(--line);padding:1rem;height:100vh;overflow:auto;position:sticky;top:0}
header h2{font-size:.8rem;margin:1.2rem 0 .3rem;opacity:.75}
header ul{list-style:none;margin:0;padding:0}
header li a{display:block;padding:.15rem .4rem;border-radius:4px;text-decoration:none}
header li a[aria-current]{background:var(--soft);font-weight:600}
input{width:100%;font:inherit;padding:.3rem .5rem;border:1px solid #888;border-radius:4px}
main{max-width:60rem;padding:1rem 2rem 4rem}
h1,h2,h3{line-height:1.25;margin:1.6em 0 .5em}
h1{margin-top:.2em}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
code{background:var(--soft);padding:.1em .25em;border-radius:3px}
pre{overflow:auto;background:var(--soft);padding:.7rem;border-radius:6px}
pre code{background:none;padding:0}
table{border-collapse:collapse;display:block;overflow:auto}
img{display:block;max-width:100%;height:auto;margin:1rem 0;border:1px solid var(--line);border-radius:6px}
td,th{border-top:1px solid var(--line);padding:.3rem .8rem .3rem 0;text-align:left;vertical-align:top}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem}
@media(max-width:50rem){body{display:flex;flex-direction:column}header{display:contents}form{padding:1rem 1rem 0}main{order:1;padding:1rem}nav{order:2;columns:2;padding:1rem;border-top:1px solid var(--line)}}
`;

/** Content-Security-Policy: the own style sheet and pictures, and the form of the search. */
export const manualPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;

export interface ManualView {
  readonly title: string;
  /** The current page; null: none of the list. */
  readonly path: string | null;
  readonly query?: string;
  /** HTML. */
  readonly content: string;
}

export function manualHtml({ title, path, query = '', content }: ManualView): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(title)} · Divan</title><style>${style}</style></head><body>`,
    '<header><a class="skip" href="#content">Skip to the page</a>',
    '<form action="/docs/search" role="search"><input type="search" name="q" aria-label="Search the manual" ',
    `placeholder="Search" maxlength="${queryLengthMax}" value="${escapeHtml(query)}"></form>`,
    `<nav aria-label="Pages">${manualContents.map(({ title, pages }) => section(title, pages, path)).join('')}`,
    '<h2>API</h2><ul><li><a href="/docs/api">All calls of this server</a></li></ul></nav></header>',
    `<main id="content">${content}</main></body></html>\n`,
  ].join('');
}

function section(title: string, pages: readonly ManualPage[], current: string | null): string {
  const items = pages.map(({ path, title }) => {
    const mark = path === current ? ' aria-current="page"' : '';
    return `<li><a href="/docs/${path}"${mark}>${escapeHtml(title)}</a></li>`;
  });
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul>`;
}

export function foundHtml(query: string, found: readonly FoundPart[]): string {
  const heading = `<h1>Search</h1>`;
  if (found.length === 0) {
    const advice =
      query.trim() === '' ? 'Enter the words to search for.' : `No page has all words of “${query}”.`;
    return `${heading}<p>${escapeHtml(advice)}</p>`;
  }
  const items = found.map(({ page, heading, anchor, excerpt }) => {
    const address = `/docs/${page.path}${anchor === '' ? '' : `#${anchor}`}`;
    const label = anchor === '' ? page.title : `${page.title}: ${heading}`;
    return `<h3><a href="${escapeHtml(address)}">${escapeHtml(label)}</a></h3><p>${escapeHtml(excerpt)}</p>`;
  });
  return heading + items.join('');
}
