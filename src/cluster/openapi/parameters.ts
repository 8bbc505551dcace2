// What the parameters of paths stand for.

const meanings: Record<string, string> = {
  bucket: 'Name of a bucket.',
  scope: 'Name of a scope.',
  collection: 'Name of a collection.',
  node: 'A node: by its address (`host:port`), or by its node name where nodes are read.',
  user: 'Name of a user.',
  domain: '`local`; `external` for users of other systems, of which there are none.',
  group: 'Name of a group.',
  stat: 'Name of a sample series.',
  metric: 'Name of a metric.',
  functions: 'Names of functions, with `/` between them.',
  uid: 'Uid of a manifest, in hex.',
  authority: 'Number of an authority.',
};

export const parameterOf = (name: string) => ({
  name,
  in: 'path',
  required: true,
  ...(meanings[name] !== undefined && { description: meanings[name] }),
  schema: { type: 'string' },
});
