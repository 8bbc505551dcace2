// The copies of a shard that have changes which its active does not have. Once such a copy has left the in-sync set, its active tells it to
// remove them.
import type { Log } from '#ports/log.ts';
import type { Bucket } from '../bucket/bucket.ts';
import { activeHistory } from './copy-position.ts';
import type { ShardRef } from './frames.ts';
import type { PeerConnections } from './peers.ts';

export interface DivergedCopiesOptions {
  ref: ShardRef;
  bucket: Bucket;
  peers: Pick<PeerConnections, 'rollsBack' | 'send'>;
  log: Log;
}

export class DivergedCopies {
  private readonly options: DivergedCopiesOptions;
  /** By node: the vbuckets in which its copy has another history. */
  private readonly vbs = new Map<string, readonly number[]>();

  constructor(options: DivergedCopiesOptions) {
    this.options = options;
  }

  note(node: string, vbs: readonly number[]): void {
    this.vbs.set(node, vbs);
  }

  has(node: string): boolean {
    return this.vbs.has(node);
  }

  /** Tells the copies that are not in the set to roll back. Returns their nodes. */
  rollBack(isMember: (node: string) => boolean): string[] {
    const nodes = [...this.vbs.keys()].filter((node) => !isMember(node));
    for (const node of nodes) this.inform(node, this.vbs.get(node) ?? []);
    for (const node of nodes) this.vbs.delete(node);
    return nodes;
  }

  private inform(node: string, vbs: readonly number[]): void {
    const { bucket, log, peers, ref } = this.options;
    const vbuckets = vbs.length;
    log.info('replication.copy_diverged', { bucket: ref.bucket, shard: ref.shard, node, vbuckets });
    if (!peers.rollsBack(node)) {
      peers.send(node, { kind: 'empty', ...ref, vbs });
      return;
    }
    const rows = vbs.map((vb) => activeHistory(bucket, vb));
    peers.send(node, { kind: 'rollBack', ...ref, rows });
  }
}
