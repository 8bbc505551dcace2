// Searches the manual: finds the parts of pages that contain all words.
import type { ManualPage } from './contents.ts';
import { splitPage } from './headings.ts';

export const queryLengthMax = 100;
const wordsMax = 8;
const foundMax = 25;
const excerptLength = 200;

interface SearchedPart {
  readonly page: ManualPage;
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
  /** Heading and text in lower case. */
  readonly lowerHeading: string;
  readonly lowerText: string;
}

export interface FoundPart {
  readonly page: ManualPage;
  readonly heading: string;
  readonly anchor: string;
  /** Begins before the first word that was found. */
  readonly excerpt: string;
}

export class ManualIndex {
  private readonly parts: SearchedPart[] = [];

  add(page: ManualPage, markdown: string): void {
    for (const { heading, anchor, text } of splitPage(markdown)) {
      const plain = plainText(text);
      this.parts.push({
        page,
        heading: plainText(heading),
        anchor,
        text: plain,
        lowerHeading: page.repeatsHeadings ? '' : heading.toLowerCase(),
        lowerText: plain.toLowerCase(),
      });
    }
  }

  /** The best parts first. Only the first words count. */
  search(query: string): FoundPart[] {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    return this.parts
      .map((part) => ({ part, score: scoreOf(part, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, foundMax)
      .map(({ part: { page, heading, anchor, text, lowerText } }) => ({
        page,
        heading,
        anchor,
        excerpt: excerptOf(text, Math.max(0, lowerText.indexOf(words[0] as string))),
      }));
  }
}

export const wordsOf = (query: string): string[] =>
  query
    .slice(0, queryLengthMax)
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, wordsMax);

/** 0: a word is missing. A word in the heading counts more than all its occurrences in the text. */
function scoreOf({ lowerHeading, lowerText, page }: SearchedPart, words: readonly string[]): number {
  const title = page.title.toLowerCase();
  let score = 0;
  for (const word of words) {
    const occurrences = Math.min(9, lowerText.split(word).length - 1);
    const wordScore = (lowerHeading.includes(word) ? 20 : 0) + (title.includes(word) ? 5 : 0) + occurrences;
    if (wordScore === 0) return 0;
    score += wordScore;
  }
  return score;
}

function excerptOf(text: string, at: number): string {
  const start = at < 60 ? 0 : text.indexOf(' ', at - 60) + 1;
  const end = start + excerptLength;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end).trim()}${end < text.length ? ' …' : ''}`;
}

/** Markdown without the marks of links, code and tables. */
const plainText = (markdown: string): string =>
  markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^\|[\s|:-]+\|$/gm, '')
    .replaceAll(/[`*|]|^```.*$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
