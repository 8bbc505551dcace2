// Tables of 401, 403, 404 and 405, generated from route declarations: the requests that every route of a node must refuse before
// any handler runs. Run them over all routes of a server:
//
//   await checkAccess(t, accessCases(routes, { admin, weak }), call);                 // a provisioned node
//   await checkAccess(t, unprovisionedCases(routes, admin), call);                    // a fresh one
//
// `weak` is an identity whose roles grant nothing that a route requires (`sync_gateway_replicator[*]` is one). Both are
// Authorization headers. No bucket may be called `absent`.
import type { TestContext } from 'node:test';
import type { BoundRoute, RouteDefinition } from '#contract/route.ts';
import { parseTarget } from '#http/path.ts';
import { Router } from '#http/router.ts';

export interface AccessCase {
  readonly title: string;
  readonly method: string;
  readonly url: string;
  readonly authorization?: string | undefined;
  readonly status: number;
  /** The whole body. */
  readonly body?: string;
  /** For status 403: the permission that the body must name. */
  readonly permission?: string;
  /** Whether the answer must have a WWW-Authenticate header that asks for Basic credentials. */
  readonly challenge?: boolean;
}

export type Call = (request: { method: string; url: string; authorization?: string | undefined }) => Promise<{
  status: number;
  body: string;
  /** The WWW-Authenticate header. */
  challenge: string | undefined;
}>;

const absent = 'absent';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];

/** The path with every parameter filled in. */
export const urlOf = (route: RouteDefinition): string => route.path.replace(/:\w+\*?/g, absent);

export function accessCases(
  routes: readonly RouteDefinition[],
  identities: { admin: string; weak: string },
): AccessCase[] {
  return [
    ...routes.flatMap((route) => refusals(route, identities)),
    ...unservedMethods(routes, identities.admin),
    ...unknownPaths(routes, identities.admin),
  ];
}

/** Until the first administrator is set, routes without `openBeforeProvisioning` are closed, whatever the credentials. */
export function unprovisionedCases(routes: readonly RouteDefinition[], admin: string): AccessCase[] {
  const closed = routes.filter((route) => !route.openBeforeProvisioning);
  return closed.flatMap((route) =>
    [undefined, admin].map((authorization) => ({
      title: 'closed before provisioning',
      method: route.method,
      url: urlOf(route),
      authorization,
      status: 401,
      body: '',
      challenge: true,
    })),
  );
}

function refusals(route: RouteDefinition, { admin, weak }: { admin: string; weak: string }): AccessCase[] {
  const { method, access } = route;
  const url = urlOf(route);
  const cases: AccessCase[] = [
    { title: 'not Basic', method, url, authorization: 'Bearer x', status: 401, body: '', challenge: true },
  ];
  if (access.kind !== 'anyone') {
    cases.push({ title: 'no credentials', method, url, status: 401, body: '', challenge: true });
  }
  if (access.kind === 'permission' || access.kind === 'roles') {
    const permission = access.permission.replace(/\{\w+\}/g, absent);
    cases.push({ title: 'too few roles', method, url, authorization: weak, status: 403, permission });
  }
  if (route.path.includes('/:bucket')) {
    const body = 'Requested resource not found.\r\n';
    cases.push({ title: 'no such bucket', method, url, authorization: admin, status: 404, body });
  }
  return cases;
}

function unservedMethods(routes: readonly RouteDefinition[], admin: string): AccessCase[] {
  const router = routerOf(routes);
  const urls = new Set(routes.map(urlOf));
  return [...urls].flatMap((url) =>
    methods
      .filter((method) => router.match(method, parseTarget(url).tokens ?? []) === null)
      .map((method) => notServed('method not served', method, url, admin)),
  );
}

const routerOf = (routes: readonly RouteDefinition[]) =>
  new Router(routes.map((route): BoundRoute => ({ route, handler: () => never() })));

function unknownPaths(routes: readonly RouteDefinition[], admin: string): AccessCase[] {
  const router = routerOf(routes);
  const urls = new Set(routes.map((route) => `${urlOf(route)}/no/such/path/below`));
  return [...urls].flatMap((url) =>
    methods
      .filter((method) => router.match(method, parseTarget(url).tokens ?? []) === null)
      .map((method) => notServed('unknown path', method, url, admin)),
  );
}

function notServed(title: string, method: string, url: string, authorization: string): AccessCase {
  if (method === 'HEAD') return { title, method, url, authorization, status: 404, body: '' };
  if (method === 'GET') return { title, method, url, authorization, status: 404, body: 'Not found.' };
  if (method === 'POST') {
    return { title, method, url, authorization, status: 404, body: 'Requested resource not found.\r\n' };
  }
  return { title, method, url, authorization, status: 405, body: 'Method Not Allowed' };
}

/** Runs every case; one assertion lists all failures. */
export async function checkAccess(t: TestContext, cases: readonly AccessCase[], call: Call): Promise<void> {
  t.assert.ok(cases.length > 0, 'no cases were generated');
  const wrong: string[] = [];
  for (const accessCase of cases) {
    const answer = await call({
      method: accessCase.method,
      url: accessCase.url,
      authorization: accessCase.authorization,
    });
    const problem = problemOf(accessCase, answer);
    if (problem) wrong.push(`${accessCase.title}: ${accessCase.method} ${accessCase.url}: ${problem}`);
  }
  t.assert.deepEqual(wrong, []);
}

function problemOf(accessCase: AccessCase, answer: Awaited<ReturnType<Call>>): string | null {
  if (answer.status !== accessCase.status) return `${answer.status}, expected ${accessCase.status}`;
  if (accessCase.body !== undefined && answer.body !== accessCase.body)
    return `body ${JSON.stringify(answer.body)}`;
  if (accessCase.challenge && answer.challenge !== 'Basic realm="Divan"')
    return `challenge ${answer.challenge}`;
  if (accessCase.permission === undefined) return null;
  const permissions = (JSON.parse(answer.body) as { permissions: string[] }).permissions;
  return permissions.includes(accessCase.permission)
    ? null
    : `names ${permissions.join()}, expected ${accessCase.permission}`;
}

function never(): never {
  throw new Error('no handler runs for a refused request');
}
