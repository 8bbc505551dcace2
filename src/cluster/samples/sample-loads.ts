// Loads of sample buckets that run or have failed: kept in the configuration, so that all nodes show them, a node continues its own after a
// restart, and another node can continue those of a node that left.
import type { NodeState } from '../config/cluster-state.ts';

export const sampleLoadsSetting = 'sampleLoads';

export interface SampleLoad {
  /** Id of the node that loads. */
  readonly nodeId: string;
  readonly state: 'loading' | 'failed';
  /** Null until the bucket is created. */
  readonly bucketUuid: string | null;
}

export interface SampleLoads {
  /** By name of the sample, which is the name of its bucket. */
  readonly byName: Readonly<Record<string, SampleLoad>>;
}

export const noSampleLoads: SampleLoads = { byName: {} };

export const withLoad = ({ byName }: SampleLoads, name: string, load: SampleLoad): SampleLoads => ({
  byName: { ...byName, [name]: load },
});

export const withoutLoad = ({ byName }: SampleLoads, name: string): SampleLoads => ({
  byName: Object.fromEntries(Object.entries(byName).filter(([known]) => known !== name)),
});

/** Whether a node is loading: one that left, or was failed over, does not continue. */
export const isLoading = (
  { state, nodeId }: SampleLoad,
  activeNodes: readonly Pick<NodeState, 'uuid'>[],
): boolean => state === 'loading' && activeNodes.some(({ uuid }) => uuid === nodeId);
