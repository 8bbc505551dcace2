// The reference page of the hosted management API, from its operations.
import { globSync } from 'node:fs';
import type { Operation } from '../src/cloud/http/operation.ts';

export async function hostedApi(): Promise<string> {
  const operations = await allOperations();
  const lines = [
    '# Hosted management API\n',
    'What `divan cloud` serves. Bodies are JSON; refusals are `{"errorType", "message"}`: 401 without valid credentials, 403 when the token’s',
    'role does not permit it, 404 for what is not there, 422 for what is malformed or not possible.\n',
    '| operation | id | query | success | what it does |',
    '|---|---|---|---|---|',
    ...operations.map(row),
  ];
  return `${lines.join('\n')}\n`;
}

async function allOperations(): Promise<Operation[]> {
  const files = globSync('src/cloud/**/*.contract.ts').sort();
  const modules = files.map((file) => import(`../${file}`) as Promise<Record<string, unknown>>);
  const found = (await Promise.all(modules)).flatMap((module) => Object.values(module).filter(isOperation));
  return found.sort((a, b) => (a.path === b.path ? compare(a.method, b.method) : compare(a.path, b.path)));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'replies' in value && 'path' in value;

function row({ method, path, id, query, replies, doc }: Operation): string {
  const names = query === undefined ? [] : Object.keys((query as unknown as { shape: object }).shape);
  return `| \`${method} ${path}\` | ${id} | ${names.join(', ')} | ${Object.keys(replies).join(', ')} | ${doc} |`;
}
