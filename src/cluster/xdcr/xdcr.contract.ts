// Routes of replication between clusters: references, replications and their settings.

import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { implicitMapping } from '#xdcr/mapping/mapping.contract.ts';
import { since } from '../config/node-versions.ts';
import { mappingSwitches, shownMapping } from './mapping-settings.ts';
import { connectivityStatuses } from './reference-checks.ts';
import {
  choices,
  fixedSettings,
  integerRules,
  type ReplicationSettings,
  shownDataPathSettings,
  switches,
} from './replication-settings.ts';
import type { StoredReference, StoredReplication } from './xdcr-state.ts';

const permission = (name: string): Access => ({ kind: 'permission', permission: `cluster.${name}` });
const readReferencesAccess = permission('xdcr.remote_clusters!read');
const writeReferencesAccess = permission('xdcr.remote_clusters!write');
/** `bucket[.]`: some bucket. The handlers check the permission for the source bucket. */
const readReplicationsAccess = permission('bucket[.].xdcr!read');
const writeReplicationsAccess = permission('bucket[.].xdcr!write');
const executeReplicationsAccess = permission('bucket[.].xdcr!execute');

const referenceShape = shape.named(
  'RemoteCluster',
  shape.object(
    {
      ...shape.each(shape.string, 'uuid', 'name', 'uri', 'validateURI', 'hostname', 'username', 'secureType'),
      deleted: shape.boolean,
    },
    {
      ...shape.each(shape.string, 'encryptionType', 'certificate', 'clientCertificate', 'network_type'),
      demandEncryption: shape.boolean,
      connectivityStatus: shape.oneOf(...connectivityStatuses),
    },
  ),
);

const fixedShapes = Object.fromEntries(
  Object.entries(fixedSettings).map(([name, value]) => [name, shape.oneOf(value)]),
);
const settingsShape = {
  ...shape.each(shape.boolean, ...mappingSwitches),
  colMappingRules: shape.any,
  ...shape.each(shape.integer, ...Object.keys(integerRules)),
  ...shape.each(shape.boolean, ...switches),
  ...Object.fromEntries(Object.entries(choices).map(([name, { values }]) => [name, shape.oneOf(...values)])),
  filterExpression: shape.string,
  ...fixedShapes,
};
/** Shown only for replications that were given a network; others use the network of their reference. */
const networkShape = { network_type: shape.oneOf('default', 'external') };
const defaultsAnswer = shape.named('ReplicationDefaults', shape.object(settingsShape));
const settingsAnswer = shape.named(
  'ReplicationSettings',
  shape.object({ ...settingsShape, pauseRequested: shape.boolean }, networkShape),
);
const replicationShape = shape.named(
  'Replication',
  shape.object(
    {
      ...shape.each(shape.string, 'id', 'source', 'target'),
      ...shape.each(shape.boolean, 'continuous', 'pauseRequested'),
      ...settingsShape,
      type: shape.oneOf('xdc-xmem'),
    },
    networkShape,
  ),
);
/** An empty array: the answer to a deletion, and to a request that is only validated (`CreateReplication` answers with the id). */
const emptyAnswer = shape.array(shape.any);

export const ListReferences = defineRoute({
  id: 'xdcr.references',
  method: 'GET',
  path: '/pools/default/remoteClusters',
  access: readReferencesAccess,
  answer: { json: shape.array(referenceShape) },
  doc: 'References to other clusters, and whether this node reaches them; passwords are never shown.',
});

export const CreateReference = defineRoute({
  id: 'xdcr.create_reference',
  method: 'POST',
  path: '/pools/default/remoteClusters',
  access: writeReferencesAccess,
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  answer: { json: shape.either(referenceShape, emptyAnswer) },
  doc: 'Stores a reference to another cluster, after that cluster accepted the credentials.',
});

export const EditReference = defineRoute({
  id: 'xdcr.edit_reference',
  method: 'POST',
  path: '/pools/default/remoteClusters/:name',
  access: writeReferencesAccess,
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  answer: { json: shape.either(referenceShape, emptyAnswer) },
  doc: 'Replaces a reference; all fields are sent again, and the cluster must be the same one.',
});

export const DeleteReference = defineRoute({
  id: 'xdcr.delete_reference',
  method: 'DELETE',
  path: '/pools/default/remoteClusters/:name',
  access: writeReferencesAccess,
  answer: { json: shape.oneOf('ok') },
  doc: 'Deletes a reference that no replication uses, with the checkpoints of replications to that cluster.',
});

export const CreateReplication = defineRoute({
  id: 'xdcr.create_replication',
  method: 'POST',
  path: '/controller/createReplication',
  access: writeReplicationsAccess,
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  since: since.replicationToOtherClusters,
  answer: { json: shape.object({ id: shape.string }) },
  doc: 'Starts the continuous replication of a bucket to a bucket of another cluster; collections replicate to those of the same names.',
});

const cancel = { access: writeReplicationsAccess, answer: { json: emptyAnswer } } as const;
const cancelDoc =
  'Deletes a replication. One that is created later between the same buckets continues where this one ended.';

/** `cancelXCDR` is misspelled as published clients send it. */
export const cancellations = [
  defineRoute({
    ...cancel,
    id: 'xdcr.cancel',
    method: 'DELETE',
    path: '/controller/cancelXDCR/:replication',
    doc: cancelDoc,
  }),
  defineRoute({
    ...cancel,
    id: 'xdcr.cancel_post',
    method: 'POST',
    path: '/controller/cancelXDCR/:replication',
    doc: cancelDoc,
  }),
  defineRoute({
    ...cancel,
    id: 'xdcr.cancel_misspelled',
    method: 'DELETE',
    path: '/controller/cancelXCDR/:replication',
    doc: cancelDoc,
  }),
  defineRoute({
    ...cancel,
    id: 'xdcr.cancel_misspelled_post',
    method: 'POST',
    path: '/controller/cancelXCDR/:replication',
    doc: cancelDoc,
  }),
];

export const ListReplications = defineRoute({
  id: 'xdcr.replications',
  method: 'GET',
  path: '/pools/default/replications',
  access: readReplicationsAccess,
  answer: { json: shape.array(replicationShape) },
  doc: 'The replications of the buckets that the caller may see.',
});

export const GetDefaults = defineRoute({
  id: 'xdcr.defaults',
  method: 'GET',
  path: '/settings/replications',
  access: permission('xdcr.settings!read'),
  answer: { json: defaultsAnswer },
  doc: 'The settings of replications that are created later.',
});

export const ChangeDefaults = defineRoute({
  id: 'xdcr.change_defaults',
  method: 'POST',
  path: '/settings/replications',
  access: permission('xdcr.settings!write'),
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  answer: { json: shape.either(defaultsAnswer, emptyAnswer) },
  doc: 'Changes the settings of replications that are created later.',
});

export const GetReplicationSettings = defineRoute({
  id: 'xdcr.settings',
  method: 'GET',
  path: '/settings/replications/:replication',
  access: readReplicationsAccess,
  answer: { json: settingsAnswer },
  doc: 'The settings of a replication.',
});

export const ChangeReplicationSettings = defineRoute({
  id: 'xdcr.change_settings',
  method: 'POST',
  path: '/settings/replications/:replication',
  access: executeReplicationsAccess,
  bodyKind: 'form',
  acceptsJustValidate: 'by handler',
  answer: { json: shape.either(settingsAnswer, emptyAnswer) },
  doc: 'Changes settings of a replication, which needs the permission `write`, or pauses or resumes it (`pauseRequested`), which needs `execute`.',
});

export function shownReference(reference: StoredReference) {
  const { name, uuid, hostname, username, secureType, certificate, isExternal } = reference;
  const { clientCertificate } = reference;
  const uri = `/pools/default/remoteClusters/${encodeURIComponent(name)}`;
  return {
    uuid,
    name,
    uri,
    validateURI: `${uri}?just_validate=1`,
    hostname,
    username,
    secureType,
    deleted: false,
    ...(secureType !== 'none' && { demandEncryption: true, encryptionType: secureType, certificate }),
    ...(clientCertificate !== '' && { clientCertificate }),
    ...(isExternal && { network_type: 'external' }),
  };
}

export function shownReplication(replication: StoredReplication) {
  const { id, fromBucket, clusterUuid, toBucket, pauseRequested } = replication;
  return {
    ...shownReplicationSettings(replication),
    id,
    source: fromBucket,
    target: targetUri(clusterUuid, toBucket),
    pauseRequested,
    continuous: true,
    type: 'xdc-xmem',
  };
}

export const shownDefaults = (settings: ReplicationSettings) => ({
  ...shownDataPathSettings(settings),
  ...shownMapping(implicitMapping),
});

export const shownReplicationSettings = (replication: StoredReplication) => ({
  ...shownDataPathSettings(replication.settings),
  ...shownMapping(replication.mapping),
  ...(replication.isExternal !== undefined && {
    network_type: replication.isExternal ? 'external' : 'default',
  }),
  pauseRequested: replication.pauseRequested,
});

export const targetUri = (clusterUuid: string, bucket: string): string =>
  `/remoteClusters/${clusterUuid}/buckets/${bucket}`;
