// Routes of the index service's port.
import { field, form } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { indexMetadataShape } from './index-metadata.contract.ts';
import { serviceIndexShape } from './index-records.contract.ts';

/** The reply has only indexes of collections whose indexes the caller may list. */
const everyone: Access = { kind: 'authenticated' };
const statistics: Access = { kind: 'permission', permission: 'cluster.admin.stats_export!read' };
const settings: Access = { kind: 'permission', permission: 'cluster.settings.indexes!read' };

const text = field.text().optional();
const selection = form({ bucket: text, scope: text, collection: text, index: text, getAll: text });

export const GetIndexes = defineRoute({
  id: 'index_service.status',
  method: 'GET',
  path: '/getIndexStatus',
  access: everyone,
  query: selection,
  answer: {
    json: shape.object({
      ...shape.each(shape.integer, 'version'),
      code: shape.string,
      status: shape.array(serviceIndexShape),
    }),
  },
  doc: 'Indexes with their states, filtered by bucket, scope, collection and name.',
});

export const GetIndexStatements = defineRoute({
  id: 'index_service.statements',
  method: 'GET',
  path: '/getIndexStatement',
  access: everyone,
  query: selection,
  answer: { json: shape.array(shape.string) },
  doc: 'The statements that create the indexes.',
});

const metadataDoc =
  'The definitions of the indexes, filtered by bucket, scope, collection and name, for backup tools.';

export const GetIndexMetadata = defineRoute({
  id: 'index_service.metadata',
  method: 'GET',
  path: '/getIndexMetadata',
  access: everyone,
  query: selection,
  answer: {
    json: shape.object({
      code: shape.string,
      result: shape.object({ metadata: shape.array(indexMetadataShape) }),
    }),
  },
  doc: metadataDoc,
});

export const GetLocalIndexMetadata = defineRoute({
  id: 'index_service.local_metadata',
  method: 'GET',
  path: '/getLocalIndexMetadata',
  access: everyone,
  query: selection,
  answer: { json: indexMetadataShape },
  doc: metadataDoc,
});

const statisticsAnswer = { json: shape.record(shape.record(shape.any)) };

export const GetIndexStatistics = defineRoute({
  id: 'index_service.statistics',
  method: 'GET',
  path: '/api/v1/stats',
  access: statistics,
  answer: statisticsAnswer,
  doc: 'Statistics of the service and of all indexes.',
});

export const GetKeyspaceStatistics = defineRoute({
  id: 'index_service.keyspace_statistics',
  method: 'GET',
  path: '/api/v1/stats/:keyspace',
  access: statistics,
  answer: statisticsAnswer,
  doc: 'Statistics of the indexes of a bucket, scope (`bucket.scope`) or collection (`bucket.scope.collection`).',
});

export const GetOneIndexStatistics = defineRoute({
  id: 'index_service.index_statistics',
  method: 'GET',
  path: '/api/v1/stats/:keyspace/:index',
  access: statistics,
  answer: statisticsAnswer,
  doc: 'Statistics of one index.',
});

export const GetFlatStatistics = defineRoute({
  id: 'index_service.flat_statistics',
  method: 'GET',
  path: '/stats',
  access: statistics,
  answer: { json: shape.record(shape.any) },
  doc: 'The statistics of `/api/v1/stats` as one object, named `bucket:index:statistic`.',
});

export const GetServiceSettings = defineRoute({
  id: 'index_service.settings',
  method: 'GET',
  path: '/settings',
  access: settings,
  answer: { json: shape.record(shape.any) },
  doc: 'Settings of the service.',
});
