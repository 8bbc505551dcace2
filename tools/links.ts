// Checks the references of all pages: relative links, headings that links name, and paths in code spans.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pageAnchors, splitPage } from '../src/manual/headings.ts';

const problems: string[] = [];
const pages = globSync('{*.md,{docs,src,test,bench,tools}/**/*.md}').sort();
for (const page of pages) checkPage(page, withoutBlocks(readFileSync(page, 'utf8')));
for (const problem of problems) console.error(problem);
console.log(`links: ${pages.length} pages, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function checkPage(page: string, text: string): void {
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) checkLink(page, target as string);
  for (const [, span] of text.matchAll(/`([^`\n]+)`/g)) checkPath(page, span as string);
}

function checkLink(page: string, target: string): void {
  if (/^[a-z]+:/.test(target)) return;
  const [path, heading] = target.split('#') as [string, string?];
  const file = path === '' ? page : join(dirname(page), path);
  if (!existsSync(file)) problems.push(`${page}: links to ${target}, which does not exist`);
  else if (heading !== undefined && !headingsOf(file).has(heading))
    problems.push(`${page}: links to ${target}, which has no such heading`);
}

/** Checks a code span that consists of a path of this repository, from its root or relative to the page. */
function checkPath(page: string, span: string): void {
  if (!/^(\.\.\/|(src|docs|test|tools|bench|bin)\/)[\w./-]+$/.test(span)) return;
  if (!existsSync(span) && !existsSync(join(dirname(page), span)))
    problems.push(`${page}: names ${span}, which does not exist`);
}

/** The anchors of a page's headings. */
function headingsOf(file: string): Set<string> {
  const nextAnchor = pageAnchors();
  return new Set(splitPage(readFileSync(file, 'utf8')).map(({ heading }) => nextAnchor(heading)));
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^```.*?^```/gms, '');
}
