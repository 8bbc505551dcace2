// Handlers of the index service's port: states, statements and statistics of indexes.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import { indexMetadata } from '#index/rest/index-metadata.contract.ts';
import { type ShownIndex, serviceIndexRecord } from '#index/rest/index-records.contract.ts';
import * as contract from '#index/rest/index-service.contract.ts';
import {
  indexStatistics,
  isOfKeyspace,
  serviceStatistics,
  statisticsName,
} from '#index/rest/index-statistics.contract.ts';
import { definitionText } from '#index/rest/index-text.contract.ts';
import {
  type IndexRoutesParts,
  mayOnIndex,
  recordsVersion,
  shownIndexes,
  shownNode,
} from './shown-indexes.ts';

type Selection = { readonly [Name in 'bucket' | 'scope' | 'collection' | 'index']?: string | undefined };

const mib = 1024 * 1024;

export function indexServiceRoutes(parts: IndexRoutesParts): BoundRoute[] {
  const visible = async (selection: Selection, context: Context): Promise<ShownIndex[]> =>
    (await shownIndexes(parts)).filter(
      (index) => isSelected(index, selection) && mayOnIndex(index, context, 'list'),
    );
  const metadataOf = async (selection: Selection, context: Context) => {
    const definitions = (await visible(selection, context)).map(({ definition }) => definition);
    return indexMetadata(definitions, await shownNode(parts, context));
  };
  return [
    bind(contract.GetIndexes, async ({ query }, context) => {
      const node = await shownNode(parts, context);
      const status = (await visible(query, context)).map((index) => serviceIndexRecord(index, node));
      return reply.json({ version: recordsVersion(status), code: 'success', status });
    }),
    bind(contract.GetIndexStatements, async ({ query }, context) =>
      reply.json((await visible(query, context)).map(({ definition }) => definitionText(definition))),
    ),
    bind(contract.GetIndexMetadata, async ({ query }, context) => {
      const metadata = [await metadataOf(query, context)];
      return reply.json({ code: 'success', result: { metadata } });
    }),
    bind(contract.GetLocalIndexMetadata, async ({ query }, context) =>
      reply.json(await metadataOf(query, context)),
    ),
    ...statisticsRoutes(parts),
    bind(contract.GetServiceSettings, async () => reply.json(await settingsOf(parts))),
  ];
}

function statisticsRoutes(parts: IndexRoutesParts): BoundRoute[] {
  const memoryQuotaBytes = () => parts.view.cluster.quotas.indexMemoryQuota * mib;
  const service = (indexes: readonly ShownIndex[]) =>
    serviceStatistics(indexes, { memoryQuotaBytes: memoryQuotaBytes() });
  const named = (indexes: readonly ShownIndex[]) =>
    Object.fromEntries(indexes.map((index) => [statisticsName(index.definition), indexStatistics(index)]));
  const ofKeyspace = async (path: string): Promise<ShownIndex[]> =>
    (await shownIndexes(parts)).filter(({ definition }) => isOfKeyspace(definition, path));
  return [
    bind(contract.GetIndexStatistics, async () => {
      const indexes = await shownIndexes(parts);
      return reply.json({ indexer: service(indexes), ...named(indexes) });
    }),
    bind(contract.GetKeyspaceStatistics, async ({ params }) => {
      const indexes = await ofKeyspace(params['keyspace'] ?? '');
      if (indexes.length === 0) throw generalRefusals.notFound();
      return reply.json(named(indexes));
    }),
    bind(contract.GetOneIndexStatistics, async ({ params }) => {
      const indexes = await ofKeyspace(params['keyspace'] ?? '');
      const found = indexes.filter(({ definition }) => definition.name === params['index']);
      if (found.length === 0) throw generalRefusals.notFound();
      return reply.json(named(found));
    }),
    bind(contract.GetFlatStatistics, async () => {
      const indexes = await shownIndexes(parts);
      const flat = indexes.flatMap((index) =>
        Object.entries(indexStatistics(index)).map(([name, value]) => [
          `${statisticsName(index.definition)}:${name}`,
          value,
        ]),
      );
      return reply.json({ ...service(indexes), ...Object.fromEntries(flat) });
    }),
  ];
}

async function settingsOf({ settings, view }: IndexRoutesParts): Promise<Record<string, unknown>> {
  const { storageMode, logLevel } = await settings.read('indexes', { storageMode: '', logLevel: 'info' });
  return {
    'indexer.settings.memory_quota': view.cluster.quotas.indexMemoryQuota * mib,
    'indexer.settings.storage_mode': storageMode,
    'indexer.settings.log_level': logLevel,
  };
}

function isSelected({ definition }: ShownIndex, { bucket, scope, collection, index }: Selection): boolean {
  const { name } = definition.keyspace;
  return (
    (bucket === undefined || bucket === name.bucket) &&
    (scope === undefined || scope === name.scope) &&
    (collection === undefined || collection === name.collection) &&
    (index === undefined || index === definition.name)
  );
}
