// Routes of buckets. The service holds the rules of their parameters.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import {
  bucketNodeLinkShape,
  bucketNodesShape,
  bucketShape,
  designDocumentsShape,
  nodeSeriesShape,
  oneSeriesShape,
  randomKeyShape,
  seriesNamesShape,
  seriesShape,
  stableBucketShape,
} from './buckets.shapes.ts';

const readSettings: Access = { kind: 'permission', permission: 'cluster.bucket[{bucket}].settings!read' };
const readStats: Access = { kind: 'permission', permission: 'cluster.bucket[{bucket}].stats!read' };
const compact: Access = { kind: 'permission', permission: 'cluster.bucket[{bucket}]!compact' };
const remove: Access = { kind: 'permission', permission: 'cluster.bucket[{bucket}]!delete' };

const bucket = '/pools/default/buckets/:bucket';

export const ListBuckets = defineRoute({
  id: 'buckets.list',
  method: 'GET',
  path: '/pools/default/buckets',
  access: { kind: 'permission', permission: 'cluster.bucket[.].settings!read' },
  answer: { json: shape.array(bucketShape) },
  doc: 'All buckets that the caller may see, sorted by name.',
});

export const CreateBucket = defineRoute({
  id: 'buckets.create',
  method: 'POST',
  path: '/pools/default/buckets',
  access: { kind: 'roles', roles: ['admin', 'cluster_admin'], permission: 'cluster.buckets!create' },
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  answer: { status: 202 },
  doc: 'Creates a bucket. With `?just_validate=1` only validates the parameters.',
});

export const GetBucket = defineRoute({
  id: 'buckets.get',
  method: 'GET',
  path: bucket,
  access: readSettings,
  answer: { json: bucketShape },
  doc: 'One bucket with its figures.',
});

export const EditBucket = defineRoute({
  id: 'buckets.edit',
  method: 'POST',
  path: bucket,
  access: {
    kind: 'roles',
    roles: ['admin', 'cluster_admin', 'bucket_admin[{bucket}]'],
    permission: 'cluster.bucket[{bucket}].settings!write',
  },
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  doc: 'Changes the parameters that are sent and keeps the others. With `?just_validate=1` only validates them.',
});

export const DeleteBucket = defineRoute({
  id: 'buckets.delete',
  method: 'DELETE',
  path: bucket,
  access: remove,
  doc: 'Deletes a bucket with its files; answers after the files were removed.',
});

export const FlushBucket = defineRoute({
  id: 'buckets.flush',
  method: 'POST',
  path: `${bucket}/controller/doFlush`,
  access: { kind: 'permission', permission: 'cluster.bucket[{bucket}]!flush' },
  doc: 'Removes all documents of a bucket whose flush is enabled.',
});

export const StreamBucket = defineRoute({
  id: 'buckets.stream',
  method: 'GET',
  path: '/pools/default/bucketsStreaming/:bucket',
  access: readSettings,
  answer: { json: stableBucketShape, stream: true },
  doc: 'The bucket without its figures, again after each change; ends when the bucket is deleted.',
});

export const RandomKey = defineRoute({
  id: 'buckets.random_key',
  method: 'GET',
  path: `${bucket}/localRandomKey`,
  access: {
    kind: 'permission',
    permission: 'cluster.collection[{bucket}:_default:_default].data.docs!read',
  },
  answer: { json: randomKeyShape },
  doc: 'The key of some document of the default collection.',
});

export const ListDesignDocuments = defineRoute({
  id: 'buckets.design_documents',
  method: 'GET',
  path: `${bucket}/ddocs`,
  access: { kind: 'permission', permission: 'cluster.bucket[{bucket}].views!read' },
  answer: { json: designDocumentsShape },
  doc: 'View definitions: none, since this version serves no views.',
});

export const ListBucketNodes = defineRoute({
  id: 'buckets.nodes',
  method: 'GET',
  path: `${bucket}/nodes`,
  access: readSettings,
  answer: { json: bucketNodesShape },
  doc: 'The active nodes of the cluster, with the paths of their statistics of the bucket.',
});

export const GetBucketNode = defineRoute({
  id: 'buckets.node',
  method: 'GET',
  path: `${bucket}/nodes/:node`,
  access: readSettings,
  answer: { json: bucketNodeLinkShape },
  doc: 'One node of a bucket, by host and port.',
});

export const BucketStats = defineRoute({
  id: 'buckets.stats',
  method: 'GET',
  path: `${bucket}/stats`,
  access: readStats,
  acceptsSections: true,
  answer: { json: seriesShape },
  doc: 'Sample series of a bucket, over all nodes, for a `zoom` (minute, hour, day, week, month or year), after `haveTStamp` if it is sent; with `resampleForUI` about sixty samples. In place of the bucket: `@system`, `@query`, `@index`, and for a bucket `@index-<bucket>` and `@xdcr-<bucket>`.',
});

export const BucketStat = defineRoute({
  id: 'buckets.stat',
  method: 'GET',
  path: `${bucket}/stats/:stat`,
  access: readStats,
  acceptsSections: true,
  answer: { json: oneSeriesShape },
  doc: 'One sample series of a bucket by node, over a `zoom`; empty for a name that is not sampled.',
});

export const BucketNodeStats = defineRoute({
  id: 'buckets.node_stats',
  method: 'GET',
  path: `${bucket}/nodes/:node/stats`,
  access: readStats,
  acceptsSections: true,
  answer: { json: nodeSeriesShape },
  doc: 'Sample series of a bucket on one node over a `zoom`.',
});

/** The names of the series are served at two paths; bucket records name that of `NamedStatsDirectory`. */
export const StatsDirectory = defineRoute({
  id: 'buckets.stats_directory',
  method: 'GET',
  path: `${bucket}/statsDirectory`,
  access: readStats,
  answer: { json: seriesNamesShape },
  doc: 'Names of the sample series.',
});
export const NamedStatsDirectory = defineRoute({
  ...StatsDirectory,
  id: 'buckets.stats_directory_named',
  path: `${bucket}/stats/Directory`,
});

const controller = (id: string, name: string, access: Access, doc: string) =>
  defineRoute({ id, method: 'POST', path: `${bucket}/controller/${name}`, access, doc });

const answersAtOnce =
  'Answers at once; `/pools/default/tasks` shows the compaction while it runs. Does nothing if one is running.';

export const CompactBucket = controller(
  'buckets.compact',
  'compactBucket',
  compact,
  `Compacts the files: releases the disk space of replaced documents and purges old tombstones. ${answersAtOnce}`,
);
export const CompactDatabases = controller(
  'buckets.compact_data',
  'compactDatabases',
  compact,
  `As compactBucket, since buckets of this version have no other files. ${answersAtOnce}`,
);
export const CancelBucketCompaction = controller(
  'buckets.cancel_compaction',
  'cancelBucketCompaction',
  compact,
  'Cancels a compaction that compactBucket or unsafePurgeBucket started; the files stay unchanged.',
);
export const CancelDatabasesCompaction = controller(
  'buckets.cancel_data_compaction',
  'cancelDatabasesCompaction',
  compact,
  'Cancels a compaction that compactDatabases started; the files stay unchanged.',
);
export const PurgeBucket = controller(
  'buckets.purge',
  'unsafePurgeBucket',
  remove,
  'Compacts and purges every tombstone, whatever its age: change stream clients that lag behind must start again from zero.',
);

/** A known call that this version cannot perform. */
export const StartRecovery = controller(
  'buckets.start_recovery',
  'startRecovery',
  { kind: 'permission', permission: 'cluster.bucket[{bucket}].recovery!write' },
  'Refused with 501: recovery of lost vbuckets is not available in this version.',
);
