// The manual as web pages, rendered from the Markdown files when a page is requested for the first time. Pages and the search index are kept: they are bounded by
// the files of the product.
import { nextTurn } from '#ports/clock.ts';
import { manualPages } from './contents.ts';
import { foundHtml, manualHtml } from './layout.ts';
import { type PauseClock, renderPage } from './render.ts';
import { ManualIndex, queryLengthMax } from './search.ts';

/** @throws Error of the file system */
export type ReadManualFile = (file: string) => Promise<string>;

export class Manual {
  private readonly readFile: ReadManualFile;
  private readonly clock: PauseClock;
  private readonly pages = new Map<string, Promise<string>>();
  private index: Promise<ManualIndex> | null = null;

  constructor(readFile: ReadManualFile, clock: PauseClock) {
    this.readFile = readFile;
    this.clock = clock;
  }

  /** The HTML of a page by its path below `/docs/`; null: there is none. */
  page(path: string): Promise<string> | null {
    const page = manualPages.find((other) => other.path === path);
    if (page === undefined) return null;
    const cached = this.pages.get(path) ?? this.render(page.file, page.title, path);
    this.pages.set(path, cached);
    cached.catch(() => this.pages.delete(path));
    return cached;
  }

  /** The HTML of what was found. */
  async search(query: string): Promise<string> {
    this.index ??= this.buildIndex();
    this.index.catch(() => {
      this.index = null;
    });
    const shown = query.slice(0, queryLengthMax);
    const content = foundHtml(shown, (await this.index).search(shown));
    return manualHtml({ title: 'Search', path: null, query: shown, content });
  }

  /** The HTML for a path without a page. */
  missing(): string {
    const content = '<h1>No such page</h1><p>Pick a page from the list, or search for it.</p>';
    return manualHtml({ title: 'No such page', path: null, content });
  }

  private async render(file: string, title: string, path: string): Promise<string> {
    const content = await renderPage(await this.readFile(file), file, this.clock);
    return manualHtml({ title, path, content });
  }

  private async buildIndex(): Promise<ManualIndex> {
    const index = new ManualIndex();
    for (const page of manualPages) {
      index.add(page, await this.readFile(page.file));
      await nextTurn(this.clock);
    }
    return index;
  }
}
