// Routes of support bundles and of their redaction.
import { field, filledForm } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import type { LogCollectionState, NodeCollection } from './log-collection.ts';

export const redactionLevels = ['none', 'partial'] as const;
export type RedactionLevel = (typeof redactionLevels)[number];

const access: Access = { kind: 'permission', permission: 'cluster.admin.logs!read' };
const cancelPath = '/controller/cancelLogsCollection';

export const StartCollection = defineRoute({
  id: 'log_collection.start',
  method: 'POST',
  path: '/controller/startLogsCollection',
  access,
  bodyKind: 'form',
  answer: { json: shape.array(shape.any) },
  doc: 'Has nodes write support bundles, zip files without secrets, in the background; the task clusterLogsCollection names the file of each node.',
});

export const CancelCollection = defineRoute({
  id: 'log_collection.cancel',
  method: 'POST',
  path: cancelPath,
  access,
  answer: { json: shape.array(shape.any) },
  doc: 'Cancels the support bundles that this node was asked for and that are being written.',
});

const level = shape.object({ logRedactionLevel: shape.oneOf(...redactionLevels) });

export const GetRedaction = defineRoute({
  id: 'log_redaction.read',
  method: 'GET',
  path: '/settings/logRedaction',
  access: { kind: 'permission', permission: 'cluster.settings!read' },
  answer: { json: level },
  doc: 'The redaction level of support bundles whose request names none.',
});

export const ChangeRedaction = defineRoute({
  id: 'log_redaction.change',
  method: 'POST',
  path: '/settings/logRedaction',
  access: { kind: 'permission', permission: 'cluster.admin.security!write' },
  bodyKind: 'form',
  body: filledForm({ logRedactionLevel: field.oneOf(redactionLevels) }),
  answer: { json: level },
  doc: 'Sets the redaction level of support bundles whose request names none.',
});

/** How often clients are to read the task while the collection runs. */
const refreshSeconds = 2;

/** The state as a task; published clients read `perNode`. */
export function logCollectionTask({ otpNode, startedMs, status, perNode }: LogCollectionState) {
  const nodes = Object.entries(perNode);
  const progress = nodes.reduce((total, [, node]) => total + node.progress, 0) / nodes.length;
  return {
    type: 'clusterLogsCollection',
    node: otpNode,
    status,
    progress: Math.floor(progress),
    ts: new Date(startedMs).toISOString().slice(0, 19).replace('T', ' '),
    perNode: Object.fromEntries(nodes.map(([name, node]) => [name, shownNode(node)])),
    ...(status === 'running' && { recommendedRefreshPeriod: refreshSeconds, cancelURI: cancelPath }),
  };
}

const shownNode = ({ status, path, reason }: NodeCollection) => ({
  status,
  ...(status !== 'failed' && path !== undefined && { path }),
  ...(reason !== undefined && { collectionOutput: reason }),
});
