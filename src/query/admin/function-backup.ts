// Backs up and restores user-defined functions and their libraries for backup tools: the global ones, or those of a bucket's scopes.
import type { WorkSteps } from '#base/steps.ts';
import { scopeKeyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { parseExpression } from '#sqlpp/text/parser.ts';
import { JsonError } from '#sqlpp/values/json-parse.ts';
import { parseInSteps } from '#sqlpp/values/json-steps.ts';
import { isHeld } from '../access/privileges.ts';
import type { Session } from '../access/session.ts';
import { functionRow } from '../catalog/function-rows.ts';
import { libraryPath, libraryPlace } from '../functions/known-libraries.ts';
import {
  type FunctionDefinition,
  type FunctionLibrary,
  type FunctionScope,
  functionBodyBytesMax,
} from '../query.contract.ts';
import { inSlices } from '../service/steps-in-slices.ts';
import type { QueryParts } from '../state/parts.ts';
import { checkEdition, checkRight, shownLibrary } from './libraries.ts';

/** The values of the members by which published servers recognize a backup of functions. */
const magic = '4D6172636F2072756C6573';
const version = '0x01';
/** The most functions, and the most libraries, of a backup. */
const itemsMax = 10_000;

export interface BackupSelection {
  /** null: the global functions. */
  readonly bucket: string | null;
  readonly parameters: URLSearchParams;
}

/** The published form of a backup has no `libraries`: they are an addition. */
export function backUpFunctions(
  service: QueryParts,
  session: Session,
  { bucket, parameters }: BackupSelection,
): object {
  const isChosen = choiceOf(bucket, parameters);
  const isBackedUp = (item: Scoped): boolean => isChosen(item) && (item.scope?.bucket ?? null) === bucket;
  const functions = service.deps.functions.all().filter(isBackedUp);
  const libraries = service.deps.libraries.all().filter(isBackedUp);
  checkAccess(session, bucket, functions);
  for (const scope of scopesOf(libraries)) checkRight(session, scope);
  return {
    udfMagic: magic,
    version,
    udfs: functions.map((definition) => functionRow(definition).value),
    ...(libraries.length > 0 && { libraries: libraries.map(shownLibrary) }),
  };
}

/**
 * Replaces existing functions and libraries. A request without a bucket skips those of scopes in the backup; one with a bucket skips
 * global ones.
 */
export async function restoreFunctions(
  service: QueryParts,
  session: Session,
  { bucket, parameters }: BackupSelection,
  body: string,
): Promise<void> {
  const backup = await inSlices(service, contentOf(body));
  const isChosen = choiceOf(bucket, parameters);
  const renamed = renames(parameters);
  const targetScopeOf = ({ scope }: Scoped): FunctionScope =>
    scope === null || bucket === null ? null : { bucket, scope: renamed.get(scope.scope) ?? scope.scope };
  const functions = backup.functions
    .filter(isChosen)
    .map((definition) => inScope(definition, targetScopeOf(definition)));
  const libraries = backup.libraries
    .filter(isChosen)
    .map((library) => ({ ...library, scope: targetScopeOf(library) }));
  checkAccess(session, bucket, functions);
  for (const scope of scopesOf(libraries)) checkRight(session, scope);
  if (libraries.length > 0 || functions.some(({ library }) => library !== undefined)) checkEdition(service);
  for (const library of libraries) await restoreLibrary(service, library);
  for (const definition of functions) {
    const outcome = await service.deps.changeFunction({ kind: 'create', definition, replaces: true });
    if (typeof outcome === 'object') throw sqlError(10103, definition.name, outcome.refused);
  }
}

async function restoreLibrary(service: QueryParts, library: FunctionLibrary): Promise<void> {
  const problem = await service.deps.javaScript.problemOf(library);
  if (problem !== null) throw sqlError(1040, `libraries: ${libraryPath(library)}: ${problem}`);
  const outcome = await service.deps.changeLibraries({ kind: 'store', library });
  if (typeof outcome === 'object')
    throw sqlError(1040, `libraries: ${libraryPath(library)}: ${outcome.refused}`);
}

/** The function in another scope. A path of its library that names the old scope then names the new one; `name` and `./name` stay. */
function inScope(definition: FunctionDefinition, scope: FunctionScope): FunctionDefinition {
  const { library } = definition;
  const place = library?.includes('/') ? libraryPlace(library, definition.scope) : null;
  if (library === undefined || place === null || library.startsWith('./')) return { ...definition, scope };
  return { ...definition, scope, library: libraryPath({ scope, name: place.name }) };
}

function checkAccess(
  session: Session,
  bucket: string | null,
  functions: readonly FunctionDefinition[],
): void {
  const inSqlpp = functions.filter(({ library }) => library === undefined);
  const external = functions.filter(({ library }) => library !== undefined);
  const scopes: FunctionScope[] = bucket === null ? [null] : scopesOf(inSqlpp);
  for (const scope of scopesOf(external)) checkRight(session, scope);
  for (const scope of scopes) {
    const target = scope === null ? {} : { keyspace: scopeKeyspace(scope) };
    if (isHeld(session.callers, { action: 'function', ...target })) continue;
    const role = scope === null ? 'query_manage_global_functions' : 'query_manage_functions';
    const where = scope === null ? '' : ` on ${scope.bucket}:${scope.scope}`;
    throw sqlError(
      13014,
      `User does not have credentials to manage functions. Add role ${role}${where} to allow it.`,
    );
  }
}

interface Scoped {
  readonly scope: FunctionScope;
}

/** The different scopes of items that all belong to one bucket, or are all global. */
const scopesOf = (items: readonly Scoped[]): FunctionScope[] => [
  ...new Map(items.map(({ scope }) => [scope?.scope, scope])).values(),
];

/**
 * The filter of functions and libraries. With `bucket` null it selects the global ones, otherwise those of scopes; the parameters `include`
 * and `exclude` restrict the scopes.
 */
function choiceOf(bucket: string | null, parameters: URLSearchParams): (item: Scoped) => boolean {
  const isWanted = scopeFilter(parameters);
  return ({ scope }) => (scope === null) === (bucket === null) && (scope === null || isWanted(scope.scope));
}

/** `include` and `exclude` name scopes, with commas between them. */
function scopeFilter(parameters: URLSearchParams): (scope: string) => boolean {
  const namesIn = (parameter: string) => parameters.get(parameter)?.split(',') ?? [];
  const [included, excluded] = [new Set(namesIn('include')), new Set(namesIn('exclude'))];
  return (scope) => (included.size > 0 ? included.has(scope) : !excluded.has(scope));
}

/** `remap`: `scope:other`, with commas between them. */
function renames(parameters: URLSearchParams): ReadonlyMap<string, string> {
  const pairs = parameters.get('remap')?.split(',') ?? [];
  return new Map(
    pairs.map((pair) => {
      const [from, to, ...rest] = pair.split(':');
      if (!from || !to || rest.length > 0)
        throw sqlError(1040, `remap: ${pair} must be the names of two scopes, as in old:new`);
      return [from, to] as const;
    }),
  );
}

interface Content {
  readonly functions: readonly FunctionDefinition[];
  readonly libraries: readonly FunctionLibrary[];
}

/** Reads a backup, which may have thousands of functions. */
function* contentOf(body: string): WorkSteps<Content> {
  const backup = objectOf(yield* parsed(body), 'body');
  if (backup['udfMagic'] !== magic)
    throw wrongField('udfMagic', `"${magic}", which marks a backup of functions`);
  if (backup['version'] !== version) throw wrongField('version', `"${version}"`);
  const functions: FunctionDefinition[] = [];
  for (const [at, item] of listOf(backup['udfs'], 'udfs').entries()) {
    functions.push(definitionOf(objectOf(item, `udfs[${at}]`), `udfs[${at}]`));
    yield;
  }
  return { functions, libraries: librariesOf(backup) };
}

/** Backups by published servers have no libraries. */
function librariesOf({ libraries = [] }: Readonly<Record<string, unknown>>): FunctionLibrary[] {
  return listOf(libraries, 'libraries').map((item, at) => {
    const { name, bucket, scope, code } = objectOf(item, `libraries[${at}]`);
    if (typeof bucket !== 'string' || typeof scope !== 'string' || (bucket === '') !== (scope === ''))
      throw wrongField(`libraries[${at}]: bucket and scope`, 'two names, or two empty texts');
    if (typeof name !== 'string' || name === '') throw wrongField(`libraries[${at}]: name`, 'a text');
    if (typeof code !== 'string' || code === '') throw wrongField(`libraries[${at}]: code`, 'a text');
    return { name, code, scope: bucket === '' ? null : { bucket, scope } };
  });
}

/** A value that is not a list counts as a list of one. */
function listOf(value: unknown, name: string): unknown[] {
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length > itemsMax) throw wrongField(name, `at most ${itemsMax} of them`);
  return list;
}

function definitionOf(item: Readonly<Record<string, unknown>>, at: string): FunctionDefinition {
  const identity = objectOf(item['identity'], `${at}.identity`);
  const definition = objectOf(item['definition'], `${at}.definition`);
  const language = definition['#language'];
  if (language !== 'inline' && language !== 'javascript') throw sqlError(10108, String(language));
  const text = (from: Readonly<Record<string, unknown>>, name: string): string => {
    const value = from[name];
    if (typeof value !== 'string' || value === '') throw wrongField(`${at}: ${name}`, 'a text');
    return value;
  };
  const { parameters } = definition;
  const isVariadic = parameters === null || parameters === undefined;
  if (!isVariadic && !isTexts(parameters))
    throw wrongField(`${at}.definition.parameters`, 'an array of names, or null');
  const isGlobal = identity['type'] === 'global';
  const scope = isGlobal ? null : { bucket: text(identity, 'bucket'), scope: text(identity, 'scope') };
  const signature = { name: text(identity, 'name'), parameters: isVariadic ? [] : parameters, isVariadic };
  if (language === 'javascript') {
    const library = text(definition, 'library');
    if (libraryPlace(library, scope) === null) throw sqlError(10114, library);
    return { scope, ...signature, body: text(definition, 'object'), library };
  }
  const body = text(definition, 'text');
  if (Buffer.byteLength(body) > functionBodyBytesMax)
    throw sqlError(10103, signature.name, `a body has at most ${functionBodyBytesMax} bytes`);
  parseExpression(body);
  return { scope, ...signature, body };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '');

function* parsed(body: string): WorkSteps<unknown> {
  const bytes = Buffer.from(body);
  try {
    return yield* parseInSteps({ bytes, start: 0, end: bytes.length });
  } catch (error) {
    if (error instanceof JsonError) return undefined; // refused as any value that is not an object
    throw error;
  }
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw wrongField(name, 'a JSON object');
}

const wrongField = (name: string, expected: string): Error =>
  sqlError(1040, `${name}: it must be ${expected}`);
