// Calls about replication between clusters (XDCR), which this version does not have. It refuses each by name, for callers with the
// permission, to distinguish it from a misspelled path.
import { shape } from '#contract/json-schema.ts';
import { type Answer, defineRoute, type Method } from '#contract/route.ts';

/** The published form of refusals of a family of calls. */
export type Wording = 'bare' | 'fields';

interface Family {
  readonly what: string;
  readonly wording: Wording;
}

const xdcrReferences: Family = { what: 'Replication between clusters', wording: 'bare' };
const xdcr: Family = { what: 'Replication between clusters', wording: 'fields' };

const referencesRead = 'cluster.xdcr.remote_clusters!read';
const referencesWrite = 'cluster.xdcr.remote_clusters!write';
const replicationsRead = 'cluster.bucket[.].xdcr!read';
const replicationsWrite = 'cluster.bucket[.].xdcr!write';

const calls: readonly (readonly [Family, Method, string, string])[] = [
  [xdcrReferences, 'GET', '/pools/default/remoteClusters', referencesRead],
  [xdcrReferences, 'POST', '/pools/default/remoteClusters', referencesWrite],
  [xdcrReferences, 'POST', '/pools/default/remoteClusters/:name', referencesWrite],
  [xdcrReferences, 'DELETE', '/pools/default/remoteClusters/:name', referencesWrite],
  [xdcr, 'POST', '/controller/createReplication', replicationsWrite],
  [xdcr, 'POST', '/controller/cancelXDCR/:replication', replicationsWrite],
  [xdcr, 'DELETE', '/controller/cancelXDCR/:replication', replicationsWrite],
  [xdcr, 'GET', '/pools/default/replications', replicationsRead],
  [xdcr, 'GET', '/settings/replications', 'cluster.xdcr.settings!read'],
  [xdcr, 'POST', '/settings/replications', 'cluster.xdcr.settings!write'],
  [xdcr, 'GET', '/settings/replications/:replication', replicationsRead],
  [xdcr, 'POST', '/settings/replications/:replication', replicationsWrite],
];

const status = 501;
const reason = shape.object({ _: shape.string });
const answers: Record<Wording, Answer> = {
  bare: { status, json: reason },
  fields: { status, json: shape.object({ errors: reason }) },
};

/** Each call with the feature that it needs. */
export const refusedCalls = calls.map(([{ what, wording }, method, path, permission]) => ({
  what,
  wording,
  route: defineRoute({
    // Ids are published in the OpenAPI document: this one is older than clusters of several nodes.
    id: `several_nodes.${method.toLowerCase()}${path.replace(/[/:]+/g, '.')}`,
    method,
    path,
    access: { kind: 'permission', permission },
    answer: answers[wording],
    doc: `Refused with ${status}: ${what} is not available in this version.`,
  }),
}));

/** Exported for the reference page, which lists the routes of a contract. */
export const refusedRoutes = refusedCalls.map(({ route }) => route);
