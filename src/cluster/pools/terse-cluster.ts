// A short description of the cluster; query flags select its fields.
import type { Form } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { commonCompatibility, compatVersionText } from '../config/product.ts';
import { FormReader } from '../forms/form-reader.ts';
import { isBalanced } from './pool-record.ts';

const defaultFields = ['clusterUUID', 'orchestrator', 'isBalanced', 'clusterCompatVersion'];

export interface TerseInput {
  view: ClusterView;
  clientCertAuthState: string;
  /** The name of the orchestrator's node; null where it is not known. */
  orchestrator: string | null;
}

export function terseClusterInfo(input: TerseInput, query: Form) {
  const { view, clientCertAuthState } = input;
  const { cluster, buckets } = view;
  const orchestrator = input.orchestrator ?? 'undefined';
  const fields: Record<string, unknown> = {
    clusterUUID: cluster.uuid,
    orchestrator,
    isBalanced: isBalanced(view),
    clusterCompatVersion: compatVersionText(commonCompatibility(cluster.nodes)),
    master: orchestrator,
    quotaInfo: { memoryQuota: buckets.memoryQuotaMb, ...cluster.quotas },
    clientCertAuthState,
    buckets: view.liveBuckets().map(({ name }) => name),
    nodes: cluster.nodes.map(({ otpNode }) => otpNode),
  };
  const wanted = selectedFields(query, Object.keys(fields));
  return Object.fromEntries(wanted.map((key) => [key, fields[key]]));
}

function selectedFields(query: Form, fieldNames: readonly string[]): readonly string[] {
  const reader = new FormReader(query);
  const all = reader.boolean('all') === true;
  const named = fieldNames.filter((key) => reader.boolean(key) === true);
  reader.refuseIfInvalid();
  if (all) return fieldNames;
  return named.length > 0 ? named : defaultFields;
}
