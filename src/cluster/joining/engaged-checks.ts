// What a cluster checks about a node before anything is changed to admit the node.
import type { BucketsState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { clusterVersion, nodeVersion, releaseName } from '../config/node-versions.ts';
import { compatVersionText } from '../config/product.ts';
import { joiningRefusals } from '../refusals/joining.refusals.ts';
import type { EngagedNode } from './join-messages.ts';
import { nodeAt } from './node-names.ts';

export const clockLimits = { warnMs: 200, refuseMs: 5_000 };

export interface EngagedChecks {
  view: Pick<ClusterView, 'cluster'>;
  engaged: EngagedNode;
  skewMs: number;
  services: readonly string[];
  buckets: BucketsState;
  compatibility: number;
  /** The host name that the node would have; null: none. */
  host: string | null;
}

/** @throws AppError with the first reason why the node cannot join. */
export function checkEngaged(checks: EngagedChecks): void {
  const { view, engaged, skewMs, services, compatibility, host } = checks;
  const { nodes } = view.cluster;
  if (nodes.some(({ uuid }) => uuid === engaged.nodeId)) throw joiningRefusals.alreadyMember();
  const present = nodeAt(nodes, host, engaged.ports);
  if (present !== undefined) throw joiningRefusals.exists({ otpNode: present.otpNode });
  if (Math.abs(engaged.compatibility - compatibility) > 1)
    throw joiningRefusals.otherVersion({
      theirs: compatVersionText(engaged.compatibility),
      ours: compatVersionText(compatibility),
    });
  checkVersion(nodeVersion(engaged), clusterVersion(nodes));
  const lacking = services.filter((name) => !engaged.supportedServices.includes(name));
  if (lacking.length > 0)
    throw joiningRefusals.noServices({
      requested: services.join(', '),
      supported: engaged.supportedServices.join(', '),
    });
  const totalMb = quotaMb(checks.buckets, services);
  if (totalMb > engaged.quotaMaxMb)
    throw joiningRefusals.noMemory({
      total: totalMb,
      services: services.join(','),
      max: engaged.quotaMaxMb,
    });
  if (skewMs > clockLimits.refuseMs)
    throw joiningRefusals.clockSkew({ seconds: skewMs / 1000, max: clockLimits.refuseMs / 1000 });
}

/**
 * The cluster may already use features that an older node does not know; a node that is two versions newer may no longer know features that the cluster uses.
 * @throws AppError
 */
export function checkVersion(ofNode: number, ofCluster: number): void {
  const versions = { node: releaseName(ofNode), cluster: releaseName(ofCluster) };
  if (ofNode < ofCluster) throw joiningRefusals.olderNode(versions);
  if (ofNode > ofCluster + 1) throw joiningRefusals.tooNewNode(versions);
}

/** Only the quota of the data service is compared with the memory of a node. */
const quotaMb = (buckets: BucketsState, services: readonly string[]): number =>
  services.includes('kv') ? buckets.memoryQuotaMb : 0;
