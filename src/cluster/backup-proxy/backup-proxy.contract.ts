// The routes of the administration port that lead to the backup service, as consoles and tools use them.
import { shape } from '#contract/json-schema.ts';
import { defineRoute, type Method, type RouteDefinition } from '#contract/route.ts';

const proxied = <const M extends Method>(method: M, does: string) =>
  defineRoute({
    id: `backup_proxy.${method.toLowerCase()}`,
    method,
    path: '/_p/backup/:path*',
    // The backup service authorizes the request by the forwarded credentials.
    access: { kind: 'authenticated' },
    // This node changes nothing: the backup service records its changes in the audit trail.
    changesNothing: true,
    answer: { json: shape.any },
    otherStatuses: {
      404: 'The node does not run the backup service, or the service has no such resource.',
      502: 'The backup service does not answer.',
    },
    doc: `${does} the backup service of this node, with the rights of the caller; needs Basic credentials.`,
  } satisfies RouteDefinition);

const withBody = { bodyKind: 'raw', bodyBytesMax: 4 << 20 } as const;

export const GetProxied = proxied('GET', 'Reads from');
export const DeleteProxied = proxied('DELETE', 'Deletes from');
export const PostProxied = { ...proxied('POST', 'Sends a request of at most 4 MiB to'), ...withBody };
export const PutProxied = { ...proxied('PUT', 'Sends a request of at most 4 MiB to'), ...withBody };
export const PatchProxied = { ...proxied('PATCH', 'Sends a request of at most 4 MiB to'), ...withBody };
