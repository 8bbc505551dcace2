// Headings of a Markdown page, and the anchors that links name them by.

/** A part of a page: from its heading to the next one. */
export interface PagePart {
  readonly heading: string;
  /** Empty for the first heading of a page. */
  readonly anchor: string;
  readonly text: string;
}

/** Makes the anchors of one page, called with its headings in their order; as on GitHub, a repeated heading gets a number. */
export function pageAnchors(): (heading: string) => string {
  const uses = new Map<string, number>();
  return (heading) => {
    const anchor = anchorOf(heading);
    const before = uses.get(anchor) ?? 0;
    uses.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Splits the source of a page before its headings; those in code blocks are text. */
export function splitSource(markdown: string): string[] {
  const parts: string[] = [];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    if (parts.length === 0 || (!isCode && isHeading(line))) parts.push(`${line}\n`);
    else parts[parts.length - 1] += `${line}\n`;
  }
  return parts;
}

/** The parts of a page that begins with a heading. */
export function splitPage(markdown: string): PagePart[] {
  const nextAnchor = pageAnchors();
  return splitSource(markdown).map((source, index) => {
    const end = source.indexOf('\n');
    const heading = source.slice(0, end).replace(/^#+ /, '');
    const anchor = nextAnchor(heading);
    return { heading, anchor: index === 0 ? '' : anchor, text: source.slice(end + 1) };
  });
}

const isHeading = (line: string): boolean => /^#+ /.test(line);
