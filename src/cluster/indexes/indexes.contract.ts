// Routes of indexes in the cluster manager.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';
import { managerIndexShape } from '#index/rest/index-records.contract.ts';

export const GetIndexStatus = defineRoute({
  id: 'indexes.status',
  method: 'GET',
  path: '/indexStatus',
  access: { kind: 'permission', permission: 'cluster.collection[.:.:.].n1ql.index!read' },
  answer: {
    json: shape.object({
      indexes: shape.array(managerIndexShape),
      version: shape.integer,
      warnings: shape.array(shape.string),
    }),
  },
  doc: 'All indexes whose definitions the user may read, with their states and progress.',
});
