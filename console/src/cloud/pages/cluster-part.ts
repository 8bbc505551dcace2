// What each page of a cluster gets.
import type { Cluster } from '../api/routes.ts';

export interface PartProps {
  readonly cluster: Cluster;
  readonly reload: () => void;
}
