// Descriptions of path parameters.

/** An example that works on most nodes. */
const examples: Record<string, string> = {
  bucket: 'travel',
  scope: 'inventory',
  collection: 'airline',
  node: '127.0.0.1:8091',
  user: 'app',
  domain: 'local',
  group: 'readers',
  stat: 'ops',
  metric: 'kv_curr_items',
};

const meanings: Record<string, string> = {
  bucket: 'Name of a bucket.',
  scope: 'Name of a scope.',
  collection: 'Name of a collection.',
  node: 'A node: by its address (`host:port`), or by its node name where nodes are read.',
  user: 'Name of a user.',
  domain: '`local`, or `external` for users of an LDAP server.',
  group: 'Name of a group.',
  stat: 'Name of a sample series.',
  metric: 'Name of a metric.',
  functions: 'Names of functions, with `/` between them.',
  uid: 'Uid of a manifest, in hex.',
  authority: 'Id of a trusted certificate authority.',
};

export const parameterOf = (name: string) => ({
  name,
  in: 'path',
  required: true,
  ...(meanings[name] !== undefined && { description: meanings[name] }),
  ...(examples[name] !== undefined && { example: examples[name] }),
  schema: { type: 'string', minLength: 1 },
});
