// Statements sent to the administration port; the console and tools of the cluster use it.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';

export const RunStatement = defineRoute({
  id: 'query.proxy',
  method: 'POST',
  path: '/_p/query/query/service',
  // The query service judges the statement by the credentials that are passed on.
  access: { kind: 'authenticated' },
  bodyKind: 'raw',
  bodyLimit: 8 << 20,
  // The trail of changes is about the configuration; statements also run on the query service's own ports.
  changesNothing: true,
  answer: { json: shape.record(shape.any) },
  doc: 'Runs a statement on the query service of this node, with the rights of the caller; takes Basic credentials and at most 8 MiB.',
});
