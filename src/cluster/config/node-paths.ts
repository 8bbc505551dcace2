// The folders of a node: which of them move with its data folder, and where its index files are.
import { placePrefix } from '#index/index.contract.ts';
import type { NodePaths, NodeState } from './cluster-state.ts';

/** The folders of a node whose data folder was moved: the folders of services that were the data folder are moved with it. */
export function movedPaths(
  { data, index, analytics, eventing, javaHome }: NodePaths,
  dataFolder: string,
): NodePaths {
  const moved = (path: string): string => (path === data ? dataFolder : path);
  return {
    data: dataFolder,
    index: moved(index),
    analytics: analytics.map(moved),
    eventing: moved(eventing),
    javaHome,
  };
}

/** The node's own subfolder of the folder that was set for index files, which several nodes may share; null: index files are in the data folder. */
export const indexPlaceOf = ({ uuid, paths }: Pick<NodeState, 'uuid' | 'paths'>): string | null =>
  paths.index === paths.data ? null : `${paths.index}/${placePrefix}${uuid}`;
