// Follows the changes of a bucket whose vbuckets are on several nodes: a follower for each node, with the vbuckets that are active there.
// When the map changes, the followers of the nodes concerned are replaced; streams then continue from the handler's positions.
import {
  type BucketFollower,
  ChangeFollower,
  type ChangeFollowerOptions,
  type FollowerHandler,
} from './change-follower.ts';
import { addressOfNode, type ClusterRoutes } from './cluster-routes.ts';

export interface ClusterFollowerOptions extends Omit<ChangeFollowerOptions, 'vbuckets'> {
  readonly routes: ClusterRoutes;
  readonly handler: FollowerHandler;
}

interface Followed {
  readonly follower: ChangeFollower;
  readonly vbuckets: readonly number[];
  /** The address of the node and the vbuckets, as text: when it changes, another follower replaces this one. */
  readonly assignment: string;
}

export class ClusterFollower implements BucketFollower {
  private readonly options: ClusterFollowerOptions;
  private readonly byNode = new Map<string, Followed>();
  private watch: { stop(): void } | null = null;
  private work: Promise<void> = Promise.resolve();
  private isPaused = false;
  private isStopped = false;

  constructor(options: ClusterFollowerOptions) {
    this.options = options;
  }

  start(): void {
    this.watch ??= this.options.routes.onChange(() => this.updateFollowers());
    this.updateFollowers();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.watch?.stop();
    await this.work;
    await Promise.all([...this.byNode.values()].map(({ follower }) => follower.stop()));
    this.byNode.clear();
  }

  pause(): void {
    this.isPaused = true;
    for (const { follower } of this.byNode.values()) follower.pause();
  }

  resume(): void {
    this.isPaused = false;
    for (const { follower } of this.byNode.values()) follower.resume();
  }

  /** Gives each node the follower that the newest map requires, after the earlier calls have ended. */
  private updateFollowers(): void {
    this.work = this.work.then(() => this.updateFollowersNow());
  }

  private async updateFollowersNow(): Promise<void> {
    if (this.isStopped) return;
    const wanted = this.wanted();
    const ending = [...this.byNode].filter(
      ([node, { assignment }]) => wanted.get(node)?.assignment !== assignment,
    );
    await Promise.all(
      ending.map(async ([node, { follower, vbuckets }]) => {
        this.byNode.delete(node);
        await follower.stop();
        // The handler counts these vbuckets as behind until another stream has begun.
        this.options.handler.lost(new Error('the map of the bucket changed'), vbuckets);
      }),
    );
    if (this.isStopped) return;
    for (const [node, { assignment, vbuckets }] of wanted)
      if (!this.byNode.has(node)) this.begin(node, vbuckets, assignment);
  }

  private wanted(): Map<string, { vbuckets: number[]; assignment: string }> {
    const { routes, bucket } = this.options;
    const wanted = new Map<string, { vbuckets: number[]; assignment: string }>();
    for (const [node, vbuckets] of routes.vbuckets(bucket)) {
      if (node === null) continue;
      const { host, port } = routes.node(node) ?? {};
      wanted.set(node, { vbuckets, assignment: `${host}:${port} ${vbuckets}` });
    }
    return wanted;
  }

  private begin(node: string, vbuckets: readonly number[], assignment: string): void {
    const { routes } = this.options;
    const address = node === routes.self ? this.options.address : addressOfNode(routes, node);
    if (address === undefined) return; // the follower starts when a later layout has the address
    const follower = new ChangeFollower({ ...this.options, address, vbuckets });
    this.byNode.set(node, { follower, vbuckets, assignment });
    if (this.isPaused) follower.pause();
    follower.start();
  }
}
