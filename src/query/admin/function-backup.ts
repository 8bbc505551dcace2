// Copies of user-defined functions for backup tools: all global ones, or those of a bucket's scopes, and their restore.
import { scopeKeyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { parseExpression } from '#sqlpp/text/parser.ts';
import { isHeld } from '../access/privileges.ts';
import type { Session } from '../access/session.ts';
import { functionRow } from '../catalog/function-rows.ts';
import type { FunctionDefinition, FunctionScope } from '../query.contract.ts';
import type { QueryParts } from '../state/parts.ts';

/** The published marks of a copy. */
const magic = '4D6172636F2072756C6573';
const version = '0x01';
const functionsMax = 10_000;

export interface CopiedFunctions {
  /** null: the global functions. */
  readonly bucket: string | null;
  readonly parameters: URLSearchParams;
}

export function backUpFunctions(
  service: QueryParts,
  session: Session,
  { bucket, parameters }: CopiedFunctions,
): object {
  const isWanted = scopeFilter(parameters);
  const chosen = service.deps.functions
    .all()
    .filter(({ scope }) => (scope?.bucket ?? null) === bucket && (scope === null || isWanted(scope.scope)));
  checkAccess(session, bucket, chosen);
  return { udfMagic: magic, version, udfs: chosen.map((definition) => functionRow(definition).value) };
}

/** Functions of another kind than the request's are skipped; existing ones are replaced. */
export async function restoreFunctions(
  service: QueryParts,
  session: Session,
  { bucket, parameters }: CopiedFunctions,
  body: string,
): Promise<void> {
  const isWanted = scopeFilter(parameters);
  const renamed = renames(parameters);
  const definitions = definitionsOf(body).flatMap((definition) => {
    const { scope } = definition;
    if ((scope === null) !== (bucket === null)) return [];
    if (scope === null || bucket === null) return [definition];
    if (!isWanted(scope.scope)) return [];
    return [{ ...definition, scope: { bucket, scope: renamed.get(scope.scope) ?? scope.scope } }];
  });
  checkAccess(session, bucket, definitions);
  for (const definition of definitions) {
    const outcome = await service.deps.changeFunction({ kind: 'create', definition, replaces: true });
    if (typeof outcome === 'object') throw sqlError(10103, definition.name, outcome.refused);
  }
}

function checkAccess(
  session: Session,
  bucket: string | null,
  functions: readonly FunctionDefinition[],
): void {
  const scopes: FunctionScope[] = bucket === null ? [null] : functions.map(({ scope }) => scope);
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

/** `include` and `exclude` name scopes, with commas between them. */
function scopeFilter(parameters: URLSearchParams): (scope: string) => boolean {
  const listOf = (name: string) => parameters.get(name)?.split(',') ?? [];
  const [included, excluded] = [new Set(listOf('include')), new Set(listOf('exclude'))];
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

function definitionsOf(body: string): FunctionDefinition[] {
  const copy = objectOf(parsed(body), 'body');
  if (copy['udfMagic'] !== magic) throw wrongField('udfMagic', `"${magic}", which marks a copy of functions`);
  if (copy['version'] !== version) throw wrongField('version', `"${version}"`);
  const { udfs } = copy;
  const list = Array.isArray(udfs) ? (udfs as unknown[]) : [udfs];
  if (list.length > functionsMax) throw wrongField('udfs', `at most ${functionsMax} functions`);
  return list.map((item, at) => definitionOf(objectOf(item, `udfs[${at}]`), `udfs[${at}]`));
}

function definitionOf(item: Readonly<Record<string, unknown>>, at: string): FunctionDefinition {
  const identity = objectOf(item['identity'], `${at}.identity`);
  const definition = objectOf(item['definition'], `${at}.definition`);
  if (definition['#language'] !== 'inline') throw sqlError(10108, String(definition['#language']));
  const text = (from: Readonly<Record<string, unknown>>, name: string): string => {
    const value = from[name];
    if (typeof value !== 'string' || value === '') throw wrongField(`${at}: ${name}`, 'a text');
    return value;
  };
  const { parameters } = definition;
  const isVariadic = parameters === null || parameters === undefined;
  if (!isVariadic && !isTexts(parameters))
    throw wrongField(`${at}.definition.parameters`, 'an array of names, or null');
  const body = text(definition, 'text');
  parseExpression(body);
  const isGlobal = identity['type'] === 'global';
  const scope = isGlobal ? null : { bucket: text(identity, 'bucket'), scope: text(identity, 'scope') };
  return { scope, name: text(identity, 'name'), parameters: isVariadic ? [] : parameters, isVariadic, body };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== '');

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // refused as any value that is not an object
  }
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw wrongField(name, 'a JSON object');
}

const wrongField = (name: string, right: string): Error => sqlError(1040, `${name}: it must be ${right}`);
