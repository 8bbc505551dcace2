// Routes that set a node up. Those with `openBeforeProvisioning` need no credentials until the first administrator is set.
import { type Access, defineRoute, type Method } from '#contract/route.ts';
import { indexSettingsShape, statsSettingsShape, webSettingsShape } from '../settings/settings.shapes.ts';

const setup: Access = { kind: 'permission', permission: 'cluster.admin.setup!write' };
const readSettings: Access = { kind: 'permission', permission: 'cluster.settings!read' };
const writeSettings: Access = { kind: 'permission', permission: 'cluster.settings!write' };
const readIndexes: Access = { kind: 'permission', permission: 'cluster.settings.indexes!read' };
const writeIndexes: Access = { kind: 'permission', permission: 'cluster.settings.indexes!write' };

/** A form that needs no credentials before provisioning. */
const openForm = (
  id: string,
  method: Method,
  path: string,
  access: Access,
  doc: string,
  acceptsJustValidate = false,
) =>
  defineRoute({
    id,
    method,
    path,
    access,
    doc,
    openBeforeProvisioning: true,
    bodyKind: 'form',
    ...(acceptsJustValidate && { acceptsJustValidate }),
  });

export const SetNodePaths = defineRoute({
  ...openForm(
    'provisioning.node_paths',
    'POST',
    '/nodes/self/controller/settings',
    setup,
    'Sets the folders of this node.',
  ),
  repeatable: ['cbas_path'],
});

/** As `SetNodePaths`, with the name of this node. Other nodes of the cluster keep the folders that they have. */
export const SetNamedNodePaths = defineRoute({
  id: 'provisioning.named_node_paths',
  method: 'POST',
  path: '/nodes/:node/controller/settings',
  access: setup,
  bodyKind: 'form',
  repeatable: ['cbas_path'],
  doc: 'Sets the folders of a node by its `otpNode`. A node of a provisioned cluster keeps those that it has: others are refused.',
});

export const SetServices = openForm(
  'provisioning.services',
  'POST',
  '/node/controller/setupServices',
  setup,
  'Chooses the services of this node before it is provisioned.',
  true,
);

export const Rename = openForm(
  'provisioning.rename',
  'POST',
  '/node/controller/rename',
  setup,
  'Sets the name under which clients and other nodes reach this node.',
);

export const ChangePool = openForm(
  'provisioning.pool',
  'POST',
  '/pools/default',
  { kind: 'permission', permission: 'cluster.pools!write' },
  'Sets the cluster name and the memory of services, in megabytes per node.',
  true,
);

export const GetWeb = defineRoute({
  id: 'provisioning.web_read',
  method: 'GET',
  path: '/settings/web',
  access: readSettings,
  answer: { json: webSettingsShape },
  doc: 'Port of the REST API and name of the administrator.',
});

export const SetWeb = openForm(
  'provisioning.web',
  'POST',
  '/settings/web',
  // Otherwise a caller that may only set nodes up could become a full administrator.
  { kind: 'permission', permission: 'cluster.admin.security.admin!write' },
  'Sets the credentials of the administrator; the first time this provisions the node.',
  true,
);

export const InitNode = defineRoute({
  ...openForm(
    'provisioning.init_node',
    'POST',
    '/nodeInit',
    setup,
    'Sets folders and name of this node in one call.',
    true,
  ),
  repeatable: ['analyticsPath'],
});

export const InitCluster = defineRoute({
  ...openForm(
    'provisioning.init_cluster',
    'POST',
    '/clusterInit',
    setup,
    'Sets services, memory and administrator in one call.',
    true,
  ),
  repeatable: ['analyticsPath'],
});

export const GetStatsSettings = defineRoute({
  id: 'provisioning.stats_read',
  method: 'GET',
  path: '/settings/stats',
  access: readSettings,
  answer: { json: statsSettingsShape },
  doc: 'Whether statistics may be shared; the node never sends any.',
});

export const SetStatsSettings = openForm(
  'provisioning.stats',
  'POST',
  '/settings/stats',
  writeSettings,
  'Stores whether statistics may be shared; the node never sends any.',
  true,
);

export const GetIndexSettings = defineRoute({
  id: 'provisioning.indexes_read',
  method: 'GET',
  path: '/settings/indexes',
  access: readIndexes,
  answer: { json: indexSettingsShape },
  doc: 'Settings of the index service; most have no effect.',
});

export const SetIndexSettings = openForm(
  'provisioning.indexes',
  'POST',
  '/settings/indexes',
  writeIndexes,
  'Changes settings of the index service; most have no effect.',
  true,
);

export const SetupNetwork = openForm(
  'provisioning.network',
  'POST',
  '/node/controller/setupNetConfig',
  setup,
  'Chooses address family and encryption of the traffic between nodes.',
  true,
);

const listener = (id: string, name: string, doc: string) =>
  defineRoute({
    id,
    method: 'POST',
    path: `/node/controller/${name}`,
    access: setup,
    bodyKind: 'form',
    acceptsJustValidate: true,
    doc,
  });
export const EnableListener = listener(
  'provisioning.enable_listener',
  'enableExternalListener',
  'Opens a listener for other nodes, by address family and encryption.',
);
export const DisableListener = listener(
  'provisioning.disable_listener',
  'disableExternalListener',
  'Closes a listener for other nodes that the node does not use itself.',
);
export const DisableUnusedListeners = listener(
  'provisioning.disable_unused_listeners',
  'disableUnusedExternalListeners',
  'Closes all listeners for other nodes but the one that the node uses itself.',
);

const alternate = '/node/controller/setupAlternateAddresses/external';
export const SetAlternate = defineRoute({
  id: 'provisioning.alternate',
  method: 'PUT',
  path: alternate,
  access: setup,
  openBeforeProvisioning: true,
  bodyKind: 'form',
  doc: 'Sets the name and ports under which clients of other networks reach this node.',
});
export const RemoveAlternate = defineRoute({
  id: 'provisioning.alternate_remove',
  method: 'DELETE',
  path: alternate,
  access: setup,
  openBeforeProvisioning: true,
  doc: 'Removes the alternate name and ports.',
});
