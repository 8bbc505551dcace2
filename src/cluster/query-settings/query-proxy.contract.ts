// The route for statements sent to the administration port, as consoles and tools do.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';

export const RunStatement = defineRoute({
  id: 'query.proxy',
  method: 'POST',
  path: '/_p/query/query/service',
  // The query service authorizes the statement by the forwarded credentials.
  access: { kind: 'authenticated' },
  bodyKind: 'raw',
  bodyBytesMax: 8 << 20,
  // The audit trail records changes of the configuration; most statements run on the query service's own ports.
  changesNothing: true,
  answer: { json: shape.record(shape.any) },
  otherStatuses: {
    404: 'The node does not run the query service.',
    406: 'The body is of another media type.',
    502: 'The query service does not answer.',
  },
  doc: 'Runs a statement on the query service of this node, with the rights of the caller; needs Basic credentials, accepts at most 8 MiB.',
});
