// Which members of in-sync sets still have all that they had received: a process that began after a clean stop continues the one before it, since
// the files have all that was in its memory. Others that restarted have only what was on disk before.
import type { SyncMember } from '../admin.ts';
import type { ContinuedMessage } from './frames.ts';
import type { PeerConnections } from './peers.ts';

export interface ContinuedBootsOptions {
  /** Uuid of the bucket. */
  readonly uuid: string;
  /** The boots that this process continues, by the files of the bucket. */
  readonly own: readonly string[];
  readonly peers: Pick<PeerConnections, 'bootOf' | 'connected' | 'saysContinued' | 'send'>;
}

export class ContinuedBoots {
  /** The boots that this process continues. */
  readonly own: readonly string[];
  private readonly options: ContinuedBootsOptions;
  /** By node: which boots its connected process continues. */
  private readonly others = new Map<string, readonly string[]>();

  constructor(options: ContinuedBootsOptions) {
    this.options = options;
    this.own = options.own;
    for (const node of options.peers.connected()) this.connected(node);
  }

  /** Either node may open the bucket after the connection was made: the one that opens it later asks the other. */
  connected(node: string): void {
    this.send(node, true);
  }

  received(node: string, { asks, boots }: ContinuedMessage): void {
    this.others.set(node, boots);
    if (asks) this.send(node, false);
  }

  disconnected(node: string): void {
    this.others.delete(node);
  }

  /**
   * What the connected process of the member's node has. `complete`: everything that the member received. `restarted`: only what was on disk.
   * `unknown`: the process has not sent its boots yet, or no process is connected.
   */
  stateOf({ boot, node }: SyncMember): 'complete' | 'restarted' | 'unknown' {
    const { peers } = this.options;
    const connected = peers.bootOf(node);
    if (connected === null) return 'unknown';
    if (connected === boot || this.others.get(node)?.includes(boot)) return 'complete';
    return this.others.has(node) || !peers.saysContinued(node) ? 'restarted' : 'unknown';
  }

  private send(node: string, asks: boolean): void {
    const { peers, uuid } = this.options;
    if (peers.saysContinued(node))
      peers.send(node, { kind: 'continued', bucket: uuid, boots: this.own, asks });
  }
}

/** The first of these members that has everything it received. */
export const firstComplete = (
  members: readonly SyncMember[],
  boots: Pick<ContinuedBoots, 'stateOf'>,
): SyncMember | undefined => members.find((member) => boots.stateOf(member) === 'complete');
