// Routes of the addresses from which clients may connect: an extension that the hosted management API uses.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';

const access = { kind: 'roles', roles: ['admin'], permission: 'cluster.admin.security!write' } as const;
const path = '/settings/clientAllowlist';
const answer = {
  json: shape.object({ enabled: shape.boolean, entries: shape.array(shape.string) }),
} as const;

export const GetClientAllowlist = defineRoute({
  id: 'client_allowlist.read',
  method: 'GET',
  path,
  access,
  answer,
  doc: 'Addresses and networks from which connections are accepted; `enabled` false: from all.',
});

export const SetClientAllowlist = defineRoute({
  id: 'client_allowlist.set',
  method: 'PUT',
  path,
  access,
  bodyKind: 'json',
  answer,
  doc: 'Accepts connections from these addresses and networks only, on every port: `{"entries":["10.1.0.0/16"]}`; the node closes other connections before it reads a byte.',
});

export const ClearClientAllowlist = defineRoute({
  id: 'client_allowlist.clear',
  method: 'DELETE',
  path,
  access,
  doc: 'Accepts connections from all addresses again.',
});

export const allowlistRecord = (entries: readonly string[] | null) => ({
  enabled: entries !== null,
  entries: entries ?? [],
});
