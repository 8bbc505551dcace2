// What buckets use of memory and disk over all data nodes: on this node as it is now, on others as they reported last.
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService, MeasuredBucket } from '../config/data-service.ts';
import type { NodeFigures } from '../nodes/node-figures.ts';

/** The space of the file system of the data, in bytes. */
export interface DiskUse {
  totalBytes: number;
  usedBytes: number;
}

export interface BucketUseDeps {
  view: Pick<ClusterView, 'self' | 'dataNodes'>;
  data: Pick<DataService, 'measured' | 'refresh'>;
  nodeFigures: Pick<NodeFigures, 'known'>;
  /** The file system of this node. */
  disk: () => Promise<DiskUse>;
}

type Use = Pick<MeasuredBucket, 'diskBytes' | 'memUsedBytes'>;

export class BucketUse {
  readonly #deps: BucketUseDeps;

  constructor(deps: BucketUseDeps) {
    this.#deps = deps;
  }

  /** Nodes that have not answered yet count as nodes without documents. */
  of(bucketUuid: string): Use {
    const { view, data, nodeFigures } = this.#deps;
    const measured = view.dataNodes.map((node) =>
      node === view.self
        ? data.measured(bucketUuid)
        : nodeFigures.known(node.uuid).figures?.measured[bucketUuid],
    );
    const sum = (name: keyof Use) => measured.reduce((total, bucket) => total + (bucket?.[name] ?? 0), 0);
    return { diskBytes: sum('diskBytes'), memUsedBytes: sum('memUsedBytes') };
  }

  /** The file systems of all data nodes together, after a new report of this node's buckets. */
  async disks(): Promise<DiskUse> {
    const { view, data, disk, nodeFigures } = this.#deps;
    await data.refresh();
    const own = await disk();
    const disks = view.dataNodes.map((node) =>
      node === view.self ? own : nodeFigures.known(node.uuid).figures?.system.disk,
    );
    const sum = (name: keyof DiskUse) => disks.reduce((total, one) => total + (one?.[name] ?? 0), 0);
    return { totalBytes: sum('totalBytes'), usedBytes: sum('usedBytes') };
  }
}
