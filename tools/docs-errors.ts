// The reference page of the node's errors, from the catalogs (`*.refusals.ts`).
import { globSync } from 'node:fs';
import { fieldText } from '#contract/field-text.ts';
import type { Refusal, RefusalDeclaration } from '#contract/refusal.ts';
import { codeSpan } from './code-span.ts';

const catalogFiles = 'src/**/*.refusals.ts';

/** All entries of all catalogs, grouped by area. */
export async function allRefusals(): Promise<readonly Refusal<RefusalDeclaration>[]> {
  const modules = await Promise.all(
    globSync(catalogFiles)
      .sort()
      .map((file) => import(`../${file}`) as Promise<Record<string, Record<string, unknown>>>),
  );
  return modules.flatMap(Object.values).flatMap(Object.values).filter(isRefusal);
}

const isRefusal = (value: unknown): value is Refusal<RefusalDeclaration> =>
  typeof value === 'function' && 'declaration' in value && 'id' in value;

export async function errorsPage(): Promise<string> {
  const refusals = await allRefusals();
  const areas = Map.groupBy(refusals, ({ id }) => id.slice(0, id.indexOf('.')));
  const lines = [
    '# Errors of the REST API\n',
    'Every refusal of a node, by area. `{name}` stands for a value of the request or of the node; `{field}` and `{text}` for every wrong',
    'field and its text, all of them at once. `{problem}` and `{reason}` say what is wrong and what would be right. Texts marked',
    '*published* are part of the published API and do not change; others are Divan’s own. What the hosted management API answers is',
    'part of [its operations](hosted-api.md).',
  ];
  for (const [area, entries] of [...areas].sort(([a], [b]) => a.localeCompare(b))) {
    lines.push(`\n## ${titleOf(area)}\n`);
    lines.push('| name | status | body | remarks |', '|---|---|---|---|');
    lines.push(...entries.map(row));
  }
  lines.push('\n## Texts of fields\n', 'The default texts for wrong fields of forms (published):\n');
  lines.push(
    ...Object.values(fieldText).map(
      (text) => `- ${codeSpan(typeof text === 'string' ? text : exampleOf(text))}`,
    ),
  );
  return `${lines.join('\n')}\n`;
}

/** Titles of areas whose names are not plain words. */
const titles: Readonly<Record<string, string>> = {
  http: 'HTTP',
  server_groups: 'Server groups',
  serviceProxy: 'Forwarding to other services',
  xdcr: 'XDCR',
};
const titleOf = (area: string): string => titles[area] ?? `${area.charAt(0).toUpperCase()}${area.slice(1)}`;

function row({ id, declaration }: Refusal<RefusalDeclaration>): string {
  const { status = 400, when = '', published, headers } = declaration;
  const header = Object.entries(headers ?? {}).map(([name, value]) => `Header \`${name}: ${value}\`.`);
  const notes = [when, ...header, published ? '*published*' : ''].filter((note) => note !== '');
  return `| ${id} | ${status} | ${bodyText(declaration)} | ${notes.join(' ')} |`;
}

function bodyText(declaration: RefusalDeclaration): string {
  if ('value' in declaration) return codeSpan(declaration.sample);
  const text = declaration.text?.trimEnd();
  switch (declaration.as) {
    case 'empty':
      return '';
    case 'text':
      return codeSpan(text ?? '{text}');
    case 'json':
      return codeSpan(JSON.stringify(text));
    case 'list':
      return codeSpan(JSON.stringify([text ?? '{text}']));
    case 'errorList':
      return codeSpan(JSON.stringify({ errors: [text ?? '{text}'] }));
    case 'code':
      return codeSpan(JSON.stringify({ error: declaration.error, reason: text }));
    case 'bare':
      return codeSpan(JSON.stringify(fieldOf(declaration)));
    case 'fields':
      return codeSpan(JSON.stringify({ errors: fieldOf(declaration) }));
    case 'bucketFields':
      return codeSpan('{"{field}":"{text}","errors":{"{field}":"{text}"},"summaries":{…}}');
  }
}

const fieldOf = ({ text, ...declaration }: { text?: string | undefined; field?: string }) =>
  text === undefined ? { '{field}': '{text}' } : { [declaration.field ?? '_']: text.trimEnd() };

const exampleOf = (text: (typeof fieldText)['oneOf'] | (typeof fieldText)['range']): string =>
  text === fieldText.range ? fieldText.range(0, 100) : fieldText.oneOf(['a', 'b']);
