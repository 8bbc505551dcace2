// Maps requests about scopes and collections to the service.

import { type BoundRoute, bind, type Context, type Params, reply } from '#contract/route.ts';
import type { Edition, ManifestState } from '../config/cluster-state.ts';
import { collectionRefusals } from '../refusals/collections.refusals.ts';
import * as contract from './collections.contract.ts';
import type { CollectionsService } from './collections.service.ts';

const ensureTimeoutMs = { default: 30_000, max: 300_000 };

export function collectionRoutes(deps: { service: CollectionsService; edition: Edition }): BoundRoute[] {
  return [...manifestRoutes(deps.service), ...changeRoutes(deps)];
}

const parameter = (params: Params, name: string): string => params[name] as string;

function manifestRoutes(service: CollectionsService): BoundRoute[] {
  return [
    bind(contract.GetManifest, ({ params }, context) => {
      const bucket = parameter(params, 'bucket');
      const visible = (scope: string, collection: string) =>
        context.may(`cluster.collection[${bucket}:${scope}:${collection}].collections!read`);
      return reply.json(contract.manifestReply(service.manifest(bucket), visible));
    }),
    bind(contract.PutManifest, async ({ params, query, body }, context) => {
      const { validOnUid } = query;
      if (validOnUid !== undefined && !isHex(validOnUid)) throw collectionRefusals.invalidValidOnUid();
      const wanted = contract.readManifest(body);
      if ('errors' in wanted) throw collectionRefusals.invalidManifest(wanted.errors);
      const bucket = parameter(params, 'bucket');
      const check = (before: ManifestState, after: ManifestState) =>
        checkChanges(bucket, before, after, context);
      return reply.json({ uid: await service.replace(bucket, wanted.value, validOnUid, check) });
    }),
    bind(contract.EnsureManifest, async ({ params, body }, context) => {
      const uid = parameter(params, 'uid');
      if (!isHex(uid)) throw collectionRefusals.invalidUid();
      const timeoutMs = ensureTimeout(body['timeout']);
      await service.ensure(parameter(params, 'bucket'), Number.parseInt(uid, 16), timeoutMs, context.signal);
      return reply.empty();
    }),
  ];
}

const isHex = (text: string): boolean => /^[0-9a-fA-F]{1,12}$/.test(text);

function ensureTimeout(sent: string | undefined): number {
  if (sent === undefined) return ensureTimeoutMs.default;
  const timeoutMs = /^\d{1,6}$/.test(sent) ? Number(sent) : Number.NaN;
  if (timeoutMs <= ensureTimeoutMs.max) return timeoutMs;
  throw collectionRefusals.timeoutOutOfRange({ max: ensureTimeoutMs.max });
}

/** Refuses a new manifest that adds or removes scopes without rights on the bucket, or changes a scope without rights on it. */
function checkChanges(bucket: string, before: ManifestState, after: ManifestState, context: Context): void {
  const contentOfScopes = ({ scopes }: ManifestState) =>
    new Map(scopes.map(({ name, collections, limits }) => [name, JSON.stringify([collections, limits])]));
  const [oldScopes, newScopes] = [contentOfScopes(before), contentOfScopes(after)];
  const hasSameScopes =
    oldScopes.size === newScopes.size && [...oldScopes.keys()].every((name) => newScopes.has(name));
  const mayChangeBucket = context.may(`cluster.bucket[${bucket}].collections!write`);
  const changed = [...newScopes.keys()].filter((name) => oldScopes.get(name) !== newScopes.get(name));
  const mayChangeThem = changed.every((name) =>
    context.may(`cluster.scope[${bucket}:${name}].collections!write`),
  );
  if (mayChangeBucket || (hasSameScopes && mayChangeThem)) return;
  throw collectionRefusals.notPermitted();
}

function changeRoutes({ service, edition }: { service: CollectionsService; edition: Edition }): BoundRoute[] {
  const checkEdition = (maxTTL: number | undefined) => {
    if (maxTTL === undefined || edition === 'enterprise') return;
    throw collectionRefusals.expiryNeedsEnterprise();
  };
  return [
    bind(contract.AddScope, async ({ params, body, justValidate }) => {
      const { name, limits } = contract.readScope(body);
      if (justValidate) return reply.empty();
      return reply.json({ uid: await service.addScope(parameter(params, 'bucket'), name, limits) });
    }),
    bind(contract.DropScope, async ({ params }) =>
      reply.json({ uid: await service.dropScope(parameter(params, 'bucket'), parameter(params, 'scope')) }),
    ),
    bind(contract.AddCollection, async ({ params, body, justValidate }) => {
      const wanted = contract.readCollection(body);
      checkEdition(wanted.maxTTL);
      if (justValidate) return reply.empty();
      const uid = await service.addCollection(
        parameter(params, 'bucket'),
        parameter(params, 'scope'),
        wanted,
      );
      return reply.json({ uid });
    }),
    bind(contract.ChangeCollection, async ({ params, body, justValidate }) => {
      const maxTTL = contract.readCollectionChange(body);
      checkEdition(maxTTL);
      if (justValidate) return reply.empty();
      const path = [
        parameter(params, 'bucket'),
        parameter(params, 'scope'),
        parameter(params, 'collection'),
      ] as const;
      return reply.json({ uid: await service.changeCollection(...path, maxTTL) });
    }),
    bind(contract.DropCollection, async ({ params }) => {
      const path = [
        parameter(params, 'bucket'),
        parameter(params, 'scope'),
        parameter(params, 'collection'),
      ] as const;
      return reply.json({ uid: await service.dropCollection(...path) });
    }),
  ];
}
