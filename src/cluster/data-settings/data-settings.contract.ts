// Routes of the data service's settings: the cluster's, a node's own, and the effective ones.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const reading: Access = { kind: 'permission', permission: 'cluster.admin.memcached!read' };
const writing: Access = { kind: 'permission', permission: 'cluster.admin.memcached!write' };
/** Values by name: only those that were set, except in `GetEffective`, which adds the defaults. */
const settings = shape.record(shape.either(shape.number, shape.boolean, shape.string));
const base = '/pools/default/settings/memcached';

export const GetGlobal = defineRoute({
  id: 'data_settings.read',
  method: 'GET',
  path: `${base}/global`,
  access: reading,
  answer: { json: settings },
  doc: 'Settings of the data service that were set for all nodes.',
});

export const SetGlobal = defineRoute({
  id: 'data_settings.change',
  method: 'POST',
  path: `${base}/global`,
  access: writing,
  openBeforeProvisioning: true,
  bodyKind: 'form',
  answer: { status: 202, json: settings },
  doc: 'Sets settings of the data service on all nodes, at once; omitted ones stay unchanged.',
});

export const GetNode = defineRoute({
  id: 'data_settings.node_read',
  method: 'GET',
  path: `${base}/node/:node`,
  access: reading,
  answer: { json: settings },
  doc: 'Settings of the data service that were set for one node, `self` or by name.',
});

export const SetNode = defineRoute({
  id: 'data_settings.node_change',
  method: 'POST',
  path: `${base}/node/:node`,
  access: writing,
  bodyKind: 'form',
  answer: { status: 202, json: settings },
  doc: 'Sets settings of the data service on one node, which override those for all nodes.',
});

export const GetNodeSetting = defineRoute({
  id: 'data_settings.node_read_one',
  method: 'GET',
  path: `${base}/node/:node/setting/:setting`,
  access: reading,
  answer: { json: settings },
  doc: 'One setting that was set for the node.',
});

export const RemoveNodeSetting = defineRoute({
  id: 'data_settings.node_remove',
  method: 'DELETE',
  path: `${base}/node/:node/setting/:setting`,
  access: writing,
  answer: { status: 202, json: shape.array(shape.any) },
  doc: 'Removes a value of the node: the one for all nodes applies again.',
});

export const GetEffective = defineRoute({
  id: 'data_settings.effective',
  method: 'GET',
  path: `${base}/effective/:node`,
  access: reading,
  answer: { json: settings },
  doc: 'The effective settings of the data service on the node, including defaults.',
});
