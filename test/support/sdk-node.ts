// A node with a bucket and the official SDK connected to it.
import { BucketType, type Cluster, type Collection } from 'couchbase';
import { administrator, eventually, NodeProcess } from './node-process.ts';
import { connect } from './sdk.ts';

export class SdkNode {
  readonly node: NodeProcess;
  readonly cluster: Cluster;
  /** The default collection of bucket `b`. */
  readonly collection: Collection;

  private constructor(node: NodeProcess, cluster: Cluster) {
    this.node = node;
    this.cluster = cluster;
    this.collection = cluster.bucket('b').defaultCollection();
  }

  static async start(): Promise<SdkNode> {
    const node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    const cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    return new SdkNode(node, cluster);
  }

  /** The default collection of a bucket made for the test. */
  async withBucket(
    name: string,
    settings: { type?: BucketType; replicas?: number } = {},
  ): Promise<Collection> {
    const { type = BucketType.Couchbase, replicas = 0 } = settings;
    await this.cluster
      .buckets()
      .createBucket({ name, bucketType: type, numReplicas: replicas, ramQuotaMB: 100 });
    const collection = this.cluster.bucket(name).defaultCollection();
    await eventually(() => collection.upsert('warm', {}));
    await collection.remove('warm');
    return collection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.close();
    await this.node[Symbol.asyncDispose]();
  }
}
