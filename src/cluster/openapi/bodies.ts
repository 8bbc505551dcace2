// What the OpenAPI document says about request bodies in addition to the catalog of settings: required fields, fields that are no settings,
// and a working example.
import { type JsonSchema, shape } from '#contract/json-schema.ts';

export interface BodyNotes {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly example?: Readonly<Record<string, string | number | boolean>>;
}

const { string, integer, described } = shape;
const text = (description: string): JsonSchema => described(description, string);

const roles = text('Roles separated by commas, such as `data_reader[travel],ro_admin`.');
const maxTTL = described('Seconds after which documents expire; 0: never.', {
  ...integer,
  minimum: 0,
  maximum: 2_147_483_647,
});
const password = text('Must satisfy the password policy: by default at least 6 characters.');

const document: BodyNotes = {
  required: ['value'],
  properties: {
    value: text('The document.'),
    flags: described('Common flags of client libraries.', { ...integer, minimum: 1, maximum: 4_294_967_295 }),
    cas: text('The version to replace, in decimal, as `meta.cas` of a read has it.'),
  },
  example: { value: '{"name":"Divan"}' },
};

/** By the id of the route. */
export const bodyNotes: Readonly<Record<string, BodyNotes>> = {
  'provisioning.init_cluster': {
    required: ['username', 'password', 'port'],
    example: {
      username: 'Administrator',
      password: 'password',
      port: 'SAME',
      services: 'kv',
      memoryQuota: 512,
    },
  },
  'provisioning.web': {
    required: ['username', 'password'],
    example: { username: 'Administrator', password: 'password', port: 'SAME' },
  },
  'provisioning.pool': { example: { memoryQuota: 512 } },
  'provisioning.rename': { required: ['hostname'], example: { hostname: 'db.example.com' } },
  'provisioning.services': { required: ['services'], example: { services: 'kv' } },
  'provisioning.alternate': { required: ['hostname'], example: { hostname: 'db.example.com', mgmt: 8091 } },
  'buckets.create': {
    required: ['name', 'ramQuotaMB'],
    example: { name: 'travel', ramQuotaMB: 100, replicaNumber: 0 },
  },
  'buckets.edit': { example: { ramQuotaMB: 200 } },
  'collections.add_scope': {
    required: ['name'],
    properties: { name: text('Letters, digits, `_`, `-` and `%`, not beginning with `_` or `%`.') },
    example: { name: 'inventory' },
  },
  'collections.add': {
    required: ['name'],
    properties: { name: text('Letters, digits, `_`, `-` and `%`, not beginning with `_` or `%`.'), maxTTL },
    example: { name: 'airline', maxTTL: 3600 },
  },
  'collections.change': { required: ['maxTTL'], properties: { maxTTL }, example: { maxTTL: 3600 } },
  'documents.write': document,
  'collection_documents.write': document,
  'users.put': {
    properties: {
      name: text('The full name.'),
      password,
      roles,
      groups: text('Names of groups separated by commas.'),
      limits: text('Limits by service as JSON; `{}` removes them.'),
    },
    example: { name: 'The application', password: 'app-password', roles: 'data_reader[travel]' },
  },
  'users.change_password': {
    required: ['password'],
    properties: { password },
    example: { password: 'new-password' },
  },
  'users.change_own_password': {
    required: ['password'],
    properties: { password },
    example: { password: 'new-password' },
  },
  'groups.put': {
    properties: {
      description: text('A description.'),
      roles,
      ldap_group_ref: text('The distinguished name of the LDAP group whose members get the roles.'),
    },
    example: { description: 'Readers', roles: 'ro_admin' },
  },
  'alerts.reset': {
    required: ['token'],
    properties: { token: text('The token of `alertsSilenceURL` in `/pools/default`.') },
    example: { token: '0' },
  },
  'auto_compaction.change': {
    required: ['parallelDBAndViewCompaction'],
    example: { parallelDBAndViewCompaction: 'false', 'databaseFragmentationThreshold[percentage]': 30 },
  },
  'auto_failover.change': { required: ['enabled'], example: { enabled: 'true', timeout: 120 } },
  'auto_reprovision.change': { required: ['enabled'], example: { enabled: 'true', maxNodes: 1 } },
  'password_policy.set': { example: { minLength: 8 } },
};
