// The reference page of the hosted management API, from its operations.
import { globSync } from 'node:fs';
import { type Operation, refusalsOf, rolesFor } from '../src/cloud/http/operation.ts';

export async function hostedApi(): Promise<string> {
  const operations = await allOperations();
  const lines = [
    '# Hosted management API\n',
    'What `divan cloud` serves; [the guide](../guides/cloud.md) shows how to use it, `/openapi.json` has every field. Bodies are JSON; refusals',
    'are `{"errorType", "message"}`: 401 without valid credentials, 403 when the token’s role does not permit it, 404 for what is not',
    'there, 413 for a body above 1 MiB, 422 for what is malformed or not possible, 429 with `Retry-After` when a token is used too often,',
    '500 for an internal error.\n',
    'Roles: **all**: organizationOwner, projectOwner, projectViewer and reader; project roles see only what is in their project. **read**: the',
    'same roles, for what is in a project. **write**: organizationOwner, and projectOwner in its project.\n',
    'For hosted clusters, the operations on buckets, allowlist, users, certificate and health have the same paths under `/v3`.\n',
    '| operation | id | roles | query | success | refusals | what it does |',
    '|---|---|---|---|---|---|---|',
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

function row(operation: Operation): string {
  const { method, path, id, query, replies, doc } = operation;
  const names = query === undefined ? [] : Object.keys((query as unknown as { shape: object }).shape);
  return `| \`${method} ${path}\` | ${id} | ${rolesOf(operation)} | ${names.join(', ')} | ${Object.keys(replies).join(', ')} | ${[...refusalsOf(operation), 500].join(', ')} | ${doc} |`;
}

/** The roles, in the terms that the text above the table explains. */
function rolesOf(operation: Operation): string {
  const { access, needs, method } = operation;
  if (access === 'open') return 'none';
  if (needs === 'organization' || needs === 'readAll') return rolesFor(operation).join(', ');
  if (needs === 'any') return 'all';
  return method === 'GET' ? 'read' : 'write';
}
