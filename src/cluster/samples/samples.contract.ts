// Sample buckets: which there are, and their installation.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';

const sample = shape.object({
  name: shape.string,
  installed: shape.boolean,
  quotaNeeded: shape.integer,
});

export const ListSamples = defineRoute({
  id: 'samples.list',
  method: 'GET',
  path: '/sampleBuckets',
  access: { kind: 'permission', permission: 'cluster.samples!read' },
  answer: { json: shape.array(sample) },
  doc: 'The sample buckets, with the bytes of memory that each needs on every node with documents. `installed` is true once a bucket has all its documents and indexes, or was created by other means.',
});

export const InstallSamples = defineRoute({
  id: 'samples.install',
  method: 'POST',
  path: '/sampleBuckets/install',
  access: { kind: 'permission', permission: 'cluster.buckets!create' },
  bodyKind: 'json',
  answer: { status: 202, json: shape.array(shape.any) },
  doc: 'Creates these sample buckets, `["travel-sample"]`, and answers 202; their documents and indexes follow in the background, with a task `loadingSampleBucket` until they are complete. A load that was interrupted or failed is continued. Without a node that has the index service, no indexes are created.',
});
