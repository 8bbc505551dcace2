// Routes of scopes and collections.

import { readLimits } from '#auth/user-limits.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute, type Form } from '#contract/route.ts';
import type { ManifestState } from '../config/cluster-state.ts';
import { FormReader } from '../forms/form-reader.ts';
import { maxTtlMax, nameProblem, type ScopeLimits, scopeLimitNames, type WantedScope } from './manifest.ts';

const { object, array, string, integer, named } = shape;
const collectionShape = object({ name: string, uid: string }, { maxTTL: integer });
const scopeShape = object(
  { name: string, uid: string, collections: array(collectionShape) },
  { limits: shape.record(shape.record(integer)) },
);
const manifestShape = named('Manifest', object({ uid: string, scopes: array(scopeShape) }));
const manifestUidShape = object({ uid: string });

const scopes = '/pools/default/buckets/:bucket/scopes';
const writeBucket: Access = {
  kind: 'permission',
  permission: 'cluster.bucket[{bucket}].collections!write',
};
const writeScope: Access = {
  kind: 'permission',
  permission: 'cluster.scope[{bucket}:{scope}].collections!write',
};

export const GetManifest = defineRoute({
  id: 'collections.manifest',
  method: 'GET',
  path: scopes,
  access: { kind: 'permission', permission: 'cluster.collection[{bucket}:.:.].collections!read' },
  answer: { json: manifestShape },
  doc: 'Scopes and collections of a bucket that the caller may see.',
});

export const PutManifest = defineRoute({
  id: 'collections.replace',
  method: 'PUT',
  path: scopes,
  access: { kind: 'permission', permission: 'cluster.collection[{bucket}:.:.].collections!write' },
  bodyKind: 'json',
  answer: { json: manifestUidShape },
  doc: 'Replaces all scopes and collections of a bucket; `?validOnUid=` guards against changes in between.',
});

export const AddScope = defineRoute({
  id: 'collections.add_scope',
  method: 'POST',
  path: scopes,
  access: writeBucket,
  bodyKind: 'form',
  acceptsJustValidate: true,
  answer: { json: manifestUidShape },
  doc: 'Creates a scope, or replaces the `limits` of an existing one.',
});

export const DropScope = defineRoute({
  id: 'collections.drop_scope',
  method: 'DELETE',
  path: `${scopes}/:scope`,
  access: writeScope,
  answer: { json: manifestUidShape },
  doc: 'Drops a scope with its collections.',
});

export const AddCollection = defineRoute({
  id: 'collections.add',
  method: 'POST',
  path: `${scopes}/:scope/collections`,
  access: writeScope,
  bodyKind: 'form',
  acceptsJustValidate: true,
  answer: { json: manifestUidShape },
  doc: 'Creates a collection.',
});

export const ChangeCollection = defineRoute({
  id: 'collections.change',
  method: 'PATCH',
  path: `${scopes}/:scope/collections/:collection`,
  access: writeScope,
  bodyKind: 'form',
  acceptsJustValidate: true,
  answer: { json: manifestUidShape },
  doc: 'Changes `maxTTL`, the longest time for which a collection keeps documents.',
});

export const DropCollection = defineRoute({
  id: 'collections.drop',
  method: 'DELETE',
  path: `${scopes}/:scope/collections/:collection`,
  access: writeScope,
  answer: { json: manifestUidShape },
  doc: 'Drops a collection with its documents.',
});

export const EnsureManifest = defineRoute({
  id: 'collections.ensure',
  method: 'POST',
  path: `${scopes}/@ensureManifest/:uid`,
  access: { kind: 'permission', permission: 'cluster.collection[{bucket}:.:.].collections!read' },
  bodyKind: 'form',
  changesNothing: true,
  doc: 'Waits until the data service knows this manifest or a newer one.',
});

/** Limits: null removes them, undefined: not sent. */
export function readScope(form: Form): { name: string; limits: ScopeLimits | null | undefined } {
  const reader = new FormReader(form);
  reader.only(['name', 'limits']);
  const name = readName(reader);
  const sent = reader.text('limits');
  const limits = sent === undefined ? undefined : readScopeLimits(parsed(sent));
  if (limits && 'problem' in limits) reader.problems.add('limits', limits.problem);
  reader.refuseIfInvalid();
  return { name, limits: limits && 'limits' in limits ? limits.limits : undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function readScopeLimits(sent: unknown): { limits: ScopeLimits | null } | { problem: string } {
  if (isObject(sent) && sent['kv'] !== undefined)
    return { problem: 'kv: the size of a scope is not limited in this version; leave it out' };
  return readLimits<string>(sent, scopeLimitNames);
}

export function readCollection(form: Form): { name: string; maxTTL: number | undefined } {
  const reader = new FormReader(form);
  reader.only(['name', 'maxTTL']);
  // "_default" has its own answer, which names the scope.
  const name = form['name'] === '_default' ? '_default' : readName(reader);
  const maxTTL = reader.integer('maxTTL', 0, maxTtlMax);
  reader.refuseIfInvalid();
  return { name, maxTTL };
}

export function readCollectionChange(form: Form): number | undefined {
  const reader = new FormReader(form);
  reader.only(['maxTTL']);
  const maxTTL = reader.integer('maxTTL', 0, maxTtlMax);
  reader.refuseIfInvalid();
  return maxTTL;
}

function readName(reader: FormReader): string {
  const name = reader.required('name');
  const problem = reader.form['name'] === undefined ? null : nameProblem(name);
  if (problem !== null) reader.problems.add('name', problem);
  return name;
}

/** The scopes and collections that the caller may read. */
export function manifestReply(
  manifest: ManifestState,
  isVisible: (scope: string, collection: string) => boolean,
) {
  const scopes = manifest.scopes.map(({ name, uid, collections, limits }) => ({
    name,
    uid,
    ...(limits && { limits }),
    collections: collections
      .filter((collection) => isVisible(name, collection.name))
      .map((collection) => ({ name: collection.name, uid: collection.uid, maxTTL: collection.maxTTL ?? 0 })),
  }));
  return {
    uid: manifest.uid,
    scopes: scopes.filter((scope) => scope.collections.length > 0 || isVisible(scope.name, '.')),
  };
}

/** Problems of a manifest, in the form of a manifest: each wrong field has its problem, and lists have an entry for each entry sent. */
export type ManifestErrors = Readonly<Record<string, unknown>>;

const missing = { problem: 'The value must be supplied' };

type Read<T> = { readonly value: T } | { readonly errors: ManifestErrors };

/** Reads a whole manifest from JSON, or returns all of its problems. */
export function readManifest(body: unknown): Read<WantedScope[]> {
  const read = readEach((body as { scopes?: unknown } | null)?.scopes, readWantedScope);
  return 'value' in read ? read : { errors: { scopes: read.problem } };
}

function readEach<T>(
  sent: unknown,
  readOne: (fields: Readonly<Record<string, unknown>>) => Read<T>,
): { value: T[] } | { problem: unknown } {
  if (!Array.isArray(sent)) return missing;
  const reads = sent.map((item: unknown) =>
    isObject(item) ? readOne(item) : { errors: { _: 'Unexpected Json' } },
  );
  const value = reads.flatMap((read) => ('value' in read ? [read.value] : []));
  if (value.length === reads.length) return { value };
  return { problem: reads.map((read) => ('errors' in read ? read.errors : {})) };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readWantedScope({
  name,
  collections,
  limits: sent,
}: Readonly<Record<string, unknown>>): Read<WantedScope> {
  const limits = sent === undefined ? null : readScopeLimits(sent);
  const read = readEach(collections, readWantedCollection);
  const problem = wantedNameProblem(name);
  if (problem === null && 'value' in read && !(limits && 'problem' in limits))
    return {
      value: { name: name as string, collections: read.value, ...(limits && { limits: limits.limits }) },
    };
  return {
    errors: {
      ...(problem !== null && { name: problem }),
      ...('problem' in read && { collections: read.problem }),
      ...(limits && 'problem' in limits && { limits: limits.problem }),
    },
  };
}

function readWantedCollection({
  name,
  maxTTL,
}: Readonly<Record<string, unknown>>): Read<WantedScope['collections'][number]> {
  const problem = wantedNameProblem(name);
  const isTtl = typeof maxTTL === 'number' && Number.isInteger(maxTTL) && maxTTL >= 0 && maxTTL <= maxTtlMax;
  const isValidTtl = maxTTL === undefined || isTtl;
  if (problem === null && isValidTtl)
    return { value: { name: name as string, maxTTL: maxTTL as number | undefined } };
  return {
    errors: {
      ...(problem !== null && { name: problem }),
      ...(!isValidTtl && { maxTTL: `The value must be in range from 0 to ${maxTtlMax}` }),
    },
  };
}

function wantedNameProblem(name: unknown): string | null {
  if (typeof name !== 'string') return missing.problem;
  return name === '_default' ? null : nameProblem(name);
}
