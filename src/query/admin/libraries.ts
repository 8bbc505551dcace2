// Libraries of functions in JavaScript by REST: /evaluator/v1/libraries. Without a bucket and a scope a library is global.
import { scopeKeyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { isHeld } from '../access/privileges.ts';
import type { Session } from '../access/session.ts';
import { libraryPath, libraryPlace } from '../functions/known-libraries.ts';
import type { FunctionLibrary, FunctionScope } from '../query.contract.ts';
import type { QueryParts } from '../state/parts.ts';

export interface LibraryRequest {
  readonly method: string;
  /** The part of the path after `/libraries/`, decoded; empty: all libraries. */
  readonly name: string;
  readonly body: string;
  readonly parameters: URLSearchParams;
}

export interface LibraryAnswer {
  readonly status: number;
  readonly text: string;
}

const refused = (status: number, text: string): LibraryAnswer => ({ status, text: `${text}\n` });
const json = (value: unknown): LibraryAnswer => ({ status: 200, text: JSON.stringify(value) });
const done: LibraryAnswer = { status: 200, text: '' };

export async function answerLibraries(
  service: QueryParts,
  session: Session,
  { method, name, body, parameters }: LibraryRequest,
): Promise<LibraryAnswer> {
  const scope = scopeOf(parameters);
  if (scope === 'incomplete') return refused(400, 'bucket and scope: a library has both or neither');
  if (name === '') return method === 'GET' ? listed(service, session, parameters, scope) : wrongMethod('GET');
  switch (method) {
    case 'GET':
      return read(service, session, { scope, name });
    case 'POST':
      return await store(service, session, { scope, name, code: codeOf(body) });
    case 'DELETE':
      return await remove(service, session, { scope, name });
    default:
      return wrongMethod('GET, POST or DELETE');
  }
}

const wrongMethod = (allowed: string): LibraryAnswer => refused(405, `The method must be ${allowed}.`);

function scopeOf(parameters: URLSearchParams): FunctionScope | 'incomplete' {
  const [bucket, scope] = [parameters.get('bucket') ?? '', parameters.get('scope') ?? ''];
  if ((bucket === '') !== (scope === '')) return 'incomplete';
  return bucket === '' ? null : { bucket, scope };
}

/** The code itself, or a JSON string of it. */
function codeOf(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'string') return value;
  } catch {
    // Not JSON: the body is the code itself.
  }
  return body;
}

/** Lists the libraries that the caller may read. A request for one scope without the right is refused. */
function listed(
  service: QueryParts,
  session: Session,
  parameters: URLSearchParams,
  scope: FunctionScope,
): LibraryAnswer {
  const isOneScope = parameters.has('bucket');
  if (isOneScope) checkRight(session, scope);
  const chosen = service.deps.libraries
    .all()
    .filter((library) =>
      isOneScope ? isSame(library.scope, scope) : mayRead(service, session, library.scope),
    );
  return json(chosen.map(shownLibrary));
}

export const shownLibrary = ({ scope, name, code }: FunctionLibrary): object => ({
  name,
  bucket: scope?.bucket ?? '',
  scope: scope?.scope ?? '',
  code,
});

function read(
  service: QueryParts,
  session: Session,
  place: Pick<FunctionLibrary, 'scope' | 'name'>,
): LibraryAnswer {
  if (!mayRead(service, session, place.scope)) checkRight(session, place.scope);
  const library = service.deps.libraries.find(place);
  return library === undefined ? absent(place) : json({ [library.name]: library.code });
}

const absent = (place: Pick<FunctionLibrary, 'scope' | 'name'>): LibraryAnswer =>
  refused(404, `library: there is no ${libraryPath(place)}`);

async function store(
  service: QueryParts,
  session: Session,
  library: FunctionLibrary,
): Promise<LibraryAnswer> {
  checkRight(session, library.scope);
  checkEdition(service);
  const { scope } = library;
  if (scope !== null && !exists(service, scope))
    return refused(404, `bucket and scope: there is no ${scope.bucket}.${scope.scope}`);
  if (library.code.trim() === '') return refused(400, 'body: it must be the code of the library');
  const problem = await service.deps.javaScript.problemOf(library);
  if (problem !== null) return refused(400, `body: ${problem}`);
  const outcome = await service.deps.changeLibraries({ kind: 'store', library });
  return typeof outcome === 'object' ? refused(400, outcome.refused) : done;
}

async function remove(
  service: QueryParts,
  session: Session,
  place: Pick<FunctionLibrary, 'scope' | 'name'>,
): Promise<LibraryAnswer> {
  checkRight(session, place.scope);
  const { libraries, functions, changeLibraries } = service.deps;
  if (libraries.find(place) === undefined) return absent(place);
  const wanted = libraryPath(place);
  const dependents = functions.all().filter(({ library, scope }) => {
    const used = library === undefined ? null : libraryPlace(library, scope);
    return used !== null && libraryPath(used) === wanted;
  });
  if (dependents.length > 0) {
    const names = dependents.slice(0, namesMax).map(({ name }) => name);
    return refused(400, `library: drop the functions that use ${wanted} first: ${names.join(', ')}`);
  }
  const outcome = await changeLibraries({ kind: 'delete', ...place });
  if (outcome === 'not found') return absent(place);
  return outcome === 'done' ? done : refused(400, outcome.refused);
}

/** The most functions that a refusal names. */
const namesMax = 10;

/** A caller that may manage external functions of at least one scope may read global libraries, too. */
function mayRead(service: QueryParts, session: Session, scope: FunctionScope): boolean {
  if (mayManage(session, scope)) return true;
  if (scope !== null) return false;
  const scopes = service.deps.keyspaces
    .all()
    .flatMap(({ name, scopes: names }) => names.map((each) => ({ bucket: name, scope: each.name })));
  return scopes.some((each) => mayManage(session, each));
}

const mayManage = (session: Session, scope: FunctionScope): boolean =>
  isHeld(session.callers, {
    action: 'external function',
    ...(scope !== null && { keyspace: scopeKeyspace(scope) }),
  });

/** @throws SqlError 13014 unless the caller may manage libraries of the scope */
export function checkRight(session: Session, scope: FunctionScope): void {
  if (mayManage(session, scope)) return;
  const role = scope === null ? 'query_manage_global_external_functions' : 'query_manage_external_functions';
  const where = scope === null ? '' : ` on ${scope.bucket}:${scope.scope}`;
  throw sqlError(
    13014,
    `User does not have credentials to manage libraries. Add role ${role}${where} to allow it.`,
  );
}

/** @throws SqlError 10100 in the community edition, which has no functions in other languages */
export function checkEdition({ deps }: QueryParts): void {
  if (deps.edition === 'community') throw sqlError(10100, 'javascript');
}

const exists = ({ deps }: QueryParts, { bucket, scope }: NonNullable<FunctionScope>): boolean =>
  deps.keyspaces.bucket(bucket)?.scopes.some(({ name }) => name === scope) ?? false;

const isSame = (a: FunctionScope, b: FunctionScope): boolean =>
  a?.bucket === b?.bucket && a?.scope === b?.scope;
