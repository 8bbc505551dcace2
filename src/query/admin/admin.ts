// The administration API of the query service's port: routes, privileges and handlers.
import type { WorkSteps } from '#base/steps.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { isHeld, mayChangeSettings } from '../access/privileges.ts';
import { openSession, type RequestOrigin, type Session } from '../access/session.ts';
import { errorEntry, statusOf } from '../answer/error-entry.ts';
import { dictionaryCacheRows } from '../catalog/dictionary-rows.ts';
import { functionRows } from '../catalog/function-rows.ts';
import { type OwnRow, ownRows } from '../catalog/own-rows.ts';
import { activeRow, completedRow, preparedRow } from '../catalog/request-rows.ts';
import { removeTask, taskRows } from '../catalog/task-rows.ts';
import { transactionRow } from '../catalog/transaction-rows.ts';
import { reportRefusal } from '../service/statement-audit.ts';
import { inSlices } from '../service/steps-in-slices.ts';
import type { QueryParts } from '../state/parts.ts';
import { shownNameOf } from '../state/prepared-cache.ts';
import { changeSettings, shownSettings } from '../state/settings.ts';
import { backUpFunctions, restoreFunctions } from './function-backup.ts';
import { answerLibraries } from './libraries.ts';
import { statistic, statistics } from './statistics.ts';
import { vitals } from './vitals.ts';

export interface AdminRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** The part after `?`. */
  readonly search?: string;
}

export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
  /** True if `text` is plain text; absent or false for JSON. */
  readonly isText?: boolean;
}

interface RouteInput {
  readonly body: string;
  readonly session: Session;
  readonly parameters: URLSearchParams;
}

type Route = (service: QueryParts, names: readonly string[], input: RouteInput) => unknown;

const notFound = Symbol('not found');

/** An answer that is text already. */
class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The rows that this node has in a keyspace of the catalog, which may be thousands: other requests run while they are made. */
async function listOf(service: QueryParts, rows: readonly OwnRow[]): Promise<JsonText> {
  const texts = await inSlices(service, textsOf(rows));
  return new JsonText(`[${texts.join(',')}]`);
}

function* textsOf(rows: readonly OwnRow[]): WorkSteps<string[]> {
  const texts: string[] = [];
  for (const { make } of rows) {
    texts.push(JSON.stringify(make().value));
    yield;
  }
  return texts;
}

/** Handlers by method and path; `*` stands for a name. */
const routes: Readonly<Record<string, Route>> = {
  'GET /admin/vitals': (service) => vitals(service),
  'GET /admin/stats': (service) => statistics(service),
  'GET /admin/stats/*': (service, [name = '']) => statistic(service, name) ?? notFound,
  'GET /admin/prepareds': (service) => listOf(service, ownRows(service, 'prepareds')),
  'GET /admin/prepareds/*': ({ prepared }, [name = '']) => {
    const entry = prepared.named(name);
    return entry === undefined ? notFound : preparedRow(entry).value;
  },
  'DELETE /admin/prepareds/*': ({ prepared }, [name = '']) => {
    if (!prepared.remove(name)) throw sqlError(4040, name);
    return true;
  },
  'GET /admin/active_requests': (service) => listOf(service, ownRows(service, 'active_requests')),
  'GET /admin/active_requests/*': ({ active, deps }, [id = '']) => {
    const request = active.find(id);
    return request === undefined ? notFound : activeRow(request, deps.clock).value;
  },
  'DELETE /admin/active_requests/*': ({ active }, [id = '']) => {
    const request = active.find(id);
    if (request === undefined) return notFound;
    request.cancel(sqlError(5011, 'the request was cancelled by an administrator'));
    return true;
  },
  'GET /admin/completed_requests': (service) => listOf(service, ownRows(service, 'completed_requests')),
  'GET /admin/completed_requests/*': ({ completed }, [id = '']) => {
    const request = completed.find(id);
    return request === undefined ? notFound : completedRow(request).value;
  },
  'DELETE /admin/completed_requests/*': ({ completed }, [id = '']) => completed.delete(id) || notFound,
  'GET /admin/indexes/prepareds': ({ prepared }) => prepared.all().map(shownNameOf),
  'GET /admin/indexes/active_requests': ({ active }) => active.all().map(({ id }) => id),
  'GET /admin/indexes/completed_requests': ({ completed }) =>
    completed.all().map((request) => request.active.id),
  'GET /admin/indexes/functions': (service, _names, { session }) =>
    functionRows({ service, session }).map(({ id }) => id),
  'GET /admin/indexes/functions_cache': () => [],
  'GET /admin/indexes/dictionary_cache': (service, _names, { session }) =>
    dictionaryCacheRows({ service, session }).map(({ id }) => id),
  'GET /admin/indexes/tasks_cache': (service) => taskRows(service).map(({ id }) => id),
  'GET /admin/indexes/transactions': ({ transactions }) => transactions.all().map(({ start }) => start.id),
  'GET /admin/functions_cache': () => [],
  'GET /admin/functions_cache/*': () => notFound,
  'GET /admin/dictionary_cache': (service, _names, { session }) =>
    dictionaryCacheRows({ service, session }).map(({ value }) => value),
  'GET /admin/dictionary_cache/*': (service, [name], { session }) =>
    rowOrNotFound(dictionaryCacheRows({ service, session }), name),
  'GET /admin/tasks_cache': (service) => taskRows(service).map(({ value }) => value),
  'GET /admin/tasks_cache/*': (service, [id]) => rowOrNotFound(taskRows(service), id),
  'DELETE /admin/tasks_cache/*': (service, [id = '']) => removeTask(service, id) || notFound,
  'GET /admin/transactions': ({ transactions }) =>
    transactions.all().map((transaction) => transactionRow(transaction).value),
  'GET /admin/transactions/*': ({ transactions }, [id]) =>
    rowOrNotFound(transactions.all().map(transactionRow), id),
  'DELETE /admin/transactions/*': ({ transactions }, [id = '']) => transactions.end(id) || notFound,
  'GET /admin/settings': ({ deps }) => shownSettings(deps.settings),
  'POST /admin/settings': ({ deps }, _names, { body, session }) => {
    if (!mayChangeSettings(session.callers)) throw sqlError(13014, settingsText);
    changeSettings(deps.settings, objectOf(body));
    return shownSettings(deps.settings);
  },
  'POST /admin/ssl_cert': (_service, _names, { session }) => {
    if (!mayChangeSettings(session.callers)) throw sqlError(13014, settingsText);
    throw sqlError(16003, certificateText);
  },
  'GET /admin/shutdown': () => {
    throw sqlError(13014, shutdownText);
  },
  'POST /admin/shutdown': () => {
    throw sqlError(13014, shutdownText);
  },
  'GET /api/v1/backup': (service, _names, { session, parameters }) =>
    backUpFunctions(service, session, { bucket: null, parameters }),
  'POST /api/v1/backup': async (service, _names, { body, session, parameters }) => {
    await restoreFunctions(service, session, { bucket: null, parameters }, body);
    return '';
  },
  'GET /api/v1/bucket/*/backup': (service, [bucket = ''], { session, parameters }) =>
    backUpFunctions(service, session, { bucket, parameters }),
  'POST /api/v1/bucket/*/backup': async (service, [bucket = ''], { body, session, parameters }) => {
    await restoreFunctions(service, session, { bucket, parameters }, body);
    return '';
  },
  'GET /admin/config': ({ deps }) => deps.node(),
  'GET /admin/clusters': (service) => [clusterOf(service)],
  'GET /admin/clusters/*': (service, [name]) => (name === 'default' ? clusterOf(service) : notFound),
  'GET /admin/clusters/*/nodes': (service) => [nodeOf(service)],
  'GET /admin/clusters/*/nodes/*': (service, [, name]) =>
    name === service.deps.node().name ? nodeOf(service) : notFound,
};

/** The methods and paths of the API, as `GET /admin/stats/*`. */
export const adminRoutes: readonly string[] = Object.keys(routes);

const certificateText =
  'ssl_cert: the query ports use a new certificate as soon as it is loaded by POST /node/controller/reloadCertificate of the administration port';

const shutdownText = 'The service is shut down with its node, by the cluster manager only.';

const settingsText =
  'User does not have credentials to change settings of the service. Add role cluster_admin to allow it.';

export async function answerAdmin(
  service: QueryParts,
  { method, path, body, search = '' }: AdminRequest,
  origin: RequestOrigin,
): Promise<AdminAnswer> {
  if (path === '/admin/ping') return json(200, { status: 'OK' });
  const library = libraryOf(path);
  if (library !== null)
    return await answerOrError(service, { method, path, origin }, (session) =>
      answerLibrary(service, session, { method, body, search, name: library }),
    );
  const names: string[] = [];
  const route = routeOf(method, path, names);
  if (route === null) return { status: 404, text: '404 page not found\n', isText: true };
  return await answerOrError(service, { method, path, origin }, async (session) => {
    if (!isHeld(session.callers, { action: 'catalog' })) throw sqlError(13014, catalogText);
    const parameters = new URLSearchParams(search);
    const answer = await route(service, names, { body, session, parameters });
    if (answer instanceof JsonText) return { status: 200, text: answer.text };
    return answer === notFound ? json(404, {}) : json(200, answer);
  });
}

/** The answer, or the error of one that fails. Refused permissions are reported. */
async function answerOrError(
  { deps }: QueryParts,
  { method, path, origin }: Pick<AdminRequest, 'method' | 'path'> & { readonly origin: RequestOrigin },
  answerOf: (session: Session) => Promise<AdminAnswer>,
): Promise<AdminAnswer> {
  let users: readonly string[] = [];
  try {
    const session = await openSession(deps.authority, origin, []);
    users = session.users;
    return await answerOf(session);
  } catch (error) {
    const errors = [errorEntry(error, false)];
    reportRefusal(deps, { users, remoteAddress: origin.remoteAddress }, errors, `${method} ${path}`);
    return json(statusOf(error), { errors });
  }
}

/** The name of the library in the path; empty for the path of all libraries, null for any other path. */
function libraryOf(path: string): string | null {
  if (path === librariesPath || path === `${librariesPath}/`) return '';
  if (!path.startsWith(`${librariesPath}/`)) return null;
  return decoded(path.slice(librariesPath.length + 1));
}

const librariesPath = '/evaluator/v1/libraries';

async function answerLibrary(
  service: QueryParts,
  session: Session,
  { method, body, search, name }: Omit<AdminRequest, 'path' | 'search'> & { search: string; name: string },
): Promise<AdminAnswer> {
  const parameters = new URLSearchParams(search);
  const answer = await answerLibraries(service, session, { method, name, body, parameters });
  return { ...answer, isText: answer.status !== 200 };
}

const catalogText =
  'User does not have credentials to administer the service. Add role query_system_catalog to allow it.';

const json = (status: number, value: unknown): AdminAnswer => ({ status, text: JSON.stringify(value) });

/** Appends to `names` what the path has in place of each `*` of the route. */
function routeOf(method: string, path: string, names: string[]): Route | null {
  const parts = path.split('/').map(decoded);
  for (const [key, route] of Object.entries(routes)) {
    const [wanted, pattern = ''] = key.split(' ');
    const steps = pattern.split('/');
    if (wanted !== method || steps.length !== parts.length) continue;
    if (!steps.every((step, at) => step === '*' || step === parts[at])) continue;
    names.push(...parts.filter((_part, at) => steps[at] === '*'));
    return route;
  }
  return null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const rowOrNotFound = (rows: readonly { id: string; value: unknown }[], id: string | undefined): unknown =>
  rows.find((row) => row.id === id)?.value ?? notFound;

function objectOf(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Refused below, like any value that is not an object.
  }
  throw sqlError(1040, 'body: it must be a JSON object of settings');
}

const clusterOf = ({ deps }: QueryParts) => ({
  name: 'default',
  datastore: deps.node().datastoreUrl,
  version: deps.node().version,
});

function nodeOf({ deps }: QueryParts) {
  const { name, host } = deps.node();
  return { cluster: 'default', name, host, queryEndpoint: `http://${host}/query/service` };
}
