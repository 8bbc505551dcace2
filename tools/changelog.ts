// Checks that the entries of the first version in CHANGELOG.md are under headings of areas, in one order, as CONTRIBUTING.md says.
import { readFileSync } from 'node:fs';

const areas = [
  'Data service',
  'Disk and memory',
  'Queries',
  'Transactions',
  'Indexes',
  'Clusters',
  'Replication to other clusters',
  'Backup',
  'Cloud',
  'Administration',
  'Users and security',
  'Metrics and alerts',
  'Console',
  'Commands',
  'Package and start',
];
const kinds = ['Added', 'Changed', 'Fixed', 'Security'];

const problems: string[] = [];
let kind = '';
let area = '';
for (const [index, line] of firstVersion().entries()) {
  const [, marks = '', title = ''] = /^(###|####) (.+)$/.exec(line) ?? [];
  if (marks === '###') [kind, area] = [title, ''];
  if (marks === '####') checkArea(title, index);
  const isEntry = line.startsWith('- ') && kinds.includes(kind);
  if (isEntry && area === '')
    report(index, `put the entry under a heading of its area, such as "#### Queries"`);
}
for (const problem of problems) console.error(problem);
console.log(`changelog: ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function firstVersion(): string[] {
  const [head = '', version = ''] = readFileSync('CHANGELOG.md', 'utf8').split(/^(?=## )/m);
  return [...head.split('\n').slice(0, -1), ...version.split('\n')];
}

function checkArea(title: string, index: number): void {
  if (!areas.includes(title)) report(index, `"${title}" is none of the areas: ${areas.join(', ')}`);
  else if (areas.indexOf(title) <= areas.indexOf(area)) report(index, `"${title}" comes before "${area}"`);
  area = title;
}

function report(index: number, problem: string): void {
  problems.push(`CHANGELOG.md:${index + 1}: ${problem}`);
}
