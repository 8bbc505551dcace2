// Renders a Markdown page of the manual as HTML: headings get anchors, and links to other files become links to their pages.
import { Marked, type Tokens } from 'marked';
import { escapeHtml } from '#base/html.ts';
import { type Clock, nextTurn } from '#ports/clock.ts';
import { imageFile, manualPages } from './contents.ts';
import { pageAnchors, splitSource } from './headings.ts';

export type PauseClock = Pick<Clock, 'soon'>;

/**
 * `file` is the path of the page from the root of the project; links are relative to it. Other work of the thread runs between the
 * parts of a page.
 */
export async function renderPage(markdown: string, file: string, clock: PauseClock): Promise<string> {
  const marked = rendererOf(file);
  let html = '';
  for (const part of splitSource(markdown)) {
    html += marked.parse(part, { async: false });
    await nextTurn(clock);
  }
  return html;
}

function rendererOf(file: string): Marked {
  const marked = new Marked({ gfm: true });
  const nextAnchor = pageAnchors();
  marked.use({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading): string {
        return `<h${depth} id="${escapeHtml(nextAnchor(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(href, file);
        return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      image({ href, text }: Tokens.Image): string {
        const image = imageOf(href, file);
        return image === null ? '' : `<img src="${image}" alt="${escapeHtml(text)}">`;
      },
      // Pages hold no HTML: what looks like it, such as <name>, is text.
      html: ({ text }: Tokens.HTML | Tokens.Tag): string => escapeHtml(text),
    },
  });
  return marked;
}

/** Null: no picture of the manual. Plots are left out: the table beside each plot has its numbers. */
function imageOf(href: string, file: string): string | null {
  const wanted = fileOf(href, file);
  return imageFile.test(wanted) ? wanted.replace(/^docs/, '/docs') : null;
}

const fileOf = (path: string, from: string): string => new URL(path, `file:///${from}`).pathname.slice(1);

/** Null: the file is not a page of the manual. */
function targetOf(href: string, file: string): string | null {
  if (/^https?:/.test(href)) return href;
  const [path = '', anchor] = href.split('#') as [string, string?];
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (path === '') return suffix;
  const wanted = fileOf(path, file);
  const page = manualPages.find((other) => other.file === wanted || other.file === `${wanted}/README.md`);
  return page === undefined ? null : `/docs/${page.path}${suffix}`;
}
