// The node or cluster of a backup or restore: definitions through the REST API, documents through the data ports of its nodes.
import { hostAndPortOf } from '#base/host-and-port.ts';
import { reachedHost } from '#base/host-placeholder.ts';
import { type BucketConfig, dataAddresses, serverTls } from '#client/bucket-addresses.ts';
import type { BucketClientOptions } from '#client/bucket-client.ts';
import { addressOfNode, type ClusterLayout, ClusterRoutes } from '#client/cluster-routes.ts';
import { connectionProblem } from '#client/connection-problem.ts';
import { vbucketCount } from '#client/document-key.ts';
import {
  type RestContent,
  type RestReply,
  type RestTarget,
  refusal,
  rest,
  restOk,
} from '#client/rest.adapter.ts';
import type { WireAddress } from '#client/wire-address.ts';
import { BackupError } from '../format/backup-error.ts';
import type { BucketSettings, CollectionRecord, IndexRecord } from '../format/manifest.ts';
import { type RawScope, type WantedCollections, withCollections } from './raw-scopes.ts';

export interface NodeAccess {
  host: string;
  port: number;
  username: string;
  password: string;
  localAddress?: string | undefined;
  /** If set, all ports are those with TLS, with certificates that this authority (PEM) issued; null: an authority that the machine trusts. */
  authority?: string | null | undefined;
  /** Set for a service of a node: how it reaches the data ports of its cluster, whose other nodes do not have the account of the service. */
  ownCluster?: OwnCluster | undefined;
}

export interface OwnCluster {
  readonly address: WireAddress;
  /** Null: this node is the only one. */
  readonly layout: ClusterLayout | null;
  /** Resolves with the newest layout: for a bucket that was just created, once it has the bucket's vbuckets. Absent: `layout` is used. */
  readonly layoutWith?: (bucket: string) => Promise<ClusterLayout | null>;
}

/** A bucket of the node. */
export interface NodeBucket {
  readonly name: string;
  readonly uuid: string;
  readonly settings: BucketSettings;
  readonly itemCount: number;
}

export interface Scopes {
  readonly scopes: readonly string[];
  readonly collections: readonly CollectionRecord[];
}

/** The data ports of a bucket's nodes and their vbuckets. */
export interface DataRoute {
  readonly options: BucketClientOptions;
  readonly vbuckets: readonly number[];
}

const timeoutMs = 60_000;
/** How often a change of the collections is tried while other clients change them too. */
const changeAttempts = 5;
/** The reply to CREATE INDEX comes only when the index is online. */
const statementTimeoutMs = 3_600_000;
/** Settings that cannot be changed after the creation of a bucket. */
const fixedSettings: ReadonlySet<string> = new Set(['bucketType', 'conflictResolutionType', 'replicaIndex']);
/** Types of buckets without change streams. */
export const typesWithoutStreams: ReadonlySet<string> = new Set(['memcached', 'cache']);

export class BackupNode {
  readonly access: NodeAccess;
  private readonly target: RestTarget;

  /** `signal` ends a request that waits for its answer. */
  constructor(access: NodeAccess, signal?: AbortSignal) {
    this.access = access;
    this.target = { ...access, timeoutMs, signal };
  }

  private get hasTls(): boolean {
    return this.access.authority !== undefined;
  }

  /** @throws BackupError when the node cannot be reached or refuses the credentials */
  async identity(): Promise<{ cluster: string; version: string }> {
    return this.read('/pools', ({ uuid, implementationVersion }: Record<string, unknown>) => ({
      cluster: textOrEmpty(uuid),
      version: textOrEmpty(implementationVersion),
    }));
  }

  async buckets(): Promise<NodeBucket[]> {
    return this.read('/pools/default/buckets', (buckets: RawBucket[]) => buckets.map(bucketOf));
  }

  async bucket(name: string): Promise<NodeBucket | null> {
    const path = bucketPath(name);
    const answer = await this.ask('GET', path);
    if (answer.status === 404) return null;
    return this.converted('GET', path, () => bucketOf(this.json('GET', path, answer) as RawBucket));
  }

  async scopes(bucket: string): Promise<Scopes> {
    return this.read(`${bucketPath(bucket)}/scopes`, ({ scopes }: { scopes: RawScope[] }) => ({
      scopes: scopes.map(({ name }) => name),
      collections: scopes.flatMap((scope) =>
        scope.collections.map(({ name, uid, maxTTL = 0 }) => ({
          id: Number.parseInt(uid, 16),
          scope: scope.name,
          name,
          maxTtl: maxTTL,
        })),
      ),
    }));
  }

  /** Empty without the index service; null if the user may not read definitions. */
  async indexes(bucket: string): Promise<IndexRecord[] | null> {
    const answer = await this.ask('GET', '/indexStatus');
    if (answer.status === 403) return null;
    if (answer.status === 404) return [];
    return this.converted('GET', '/indexStatus', () => {
      const { indexes = [] } = this.json('GET', '/indexStatus', answer) as { indexes?: RawIndex[] };
      return indexes
        .filter((index) => index.bucket === bucket && index.replicaId === 0)
        .map(({ indexName, definition, scope, collection }) => ({
          name: indexName,
          definition,
          ...(scope !== undefined && collection !== undefined && { scope, collection }),
        }));
    });
  }

  async createBucket(name: string, settings: BucketSettings): Promise<void> {
    await this.send('POST', '/pools/default/buckets', { ...settings, name });
  }

  /** Gives a bucket other settings, as far as they can be changed. */
  async editBucket({ name, settings: present }: NodeBucket, settings: BucketSettings): Promise<void> {
    const changed = Object.entries(settings).filter(
      ([field, value]) => !fixedSettings.has(field) && present[field] !== value,
    );
    if (changed.length > 0) await this.send('POST', bucketPath(name), Object.fromEntries(changed));
  }

  /** Drops the scope, if there is one of this name. */
  async dropScope({ bucket, scope }: { bucket: string; scope: string }): Promise<void> {
    await this.drop(`${bucketPath(bucket)}/scopes/${encodeURIComponent(scope)}`);
  }

  async dropCollection({ bucket, scope, collection }: CollectionPath): Promise<void> {
    const scopePath = `${bucketPath(bucket)}/scopes/${encodeURIComponent(scope)}`;
    await this.drop(`${scopePath}/collections/${encodeURIComponent(collection)}`);
  }

  private async drop(path: string): Promise<void> {
    const answer = await this.ask('DELETE', path);
    if (answer.status >= 300 && answer.status !== 404) throw asBackupError(refusal('DELETE', path, answer));
  }

  /** Creates the missing scopes and collections, all in one request. */
  async addCollections(bucket: string, wanted: WantedCollections): Promise<void> {
    const path = `${bucketPath(bucket)}/scopes`;
    for (let attempt = 0; attempt < changeAttempts; attempt++) {
      const { uid, complete } = await this.read(path, (present: { uid: string; scopes: RawScope[] }) => ({
        uid: present.uid,
        complete: withCollections(present.scopes, wanted),
      }));
      if (complete === null) return;
      const answer = await this.ask('PUT', `${path}?validOnUid=${uid}`, JSON.stringify({ scopes: complete }));
      if (answer.status < 300) return;
      const currentUid = await this.read(path, (present: { uid: string }) => present.uid);
      // Without a change in between the node refused the request for another reason.
      if (currentUid === uid) throw asBackupError(refusal('PUT', path, answer));
    }
    throw new BackupError(
      `bucket "${bucket}": other clients keep changing its collections; repeat the command`,
    );
  }

  async flush(bucket: string): Promise<void> {
    await this.send('POST', `${bucketPath(bucket)}/controller/doFlush`);
  }

  /** One route for each node that serves vbuckets. @throws BackupError while some are served by none */
  async routes(bucket: string): Promise<DataRoute[]> {
    const { ownCluster, username, password } = this.access;
    if (ownCluster !== undefined) {
      const { layoutWith, layout } = ownCluster;
      const newest = layoutWith === undefined ? layout : await layoutWith(bucket);
      return ownRoutes(bucket, { ...ownCluster, layout: newest }, { username, password });
    }
    const path = `/pools/default/b/${encodeURIComponent(bucket)}`;
    return this.read(path, (config: BucketConfig) => this.routesIn(config, bucket));
  }

  private routesIn(config: BucketConfig, bucket: string): DataRoute[] {
    const { vBucketMap = [] } = config.vBucketServerMap ?? {};
    const addresses = dataAddresses(config, this.hasTls);
    if (vBucketMap.length === 0) throw new BackupError(`bucket "${bucket}" has no vbuckets`);
    if (vBucketMap.length !== vbucketCount)
      throw new BackupError(
        `bucket "${bucket}" has ${vBucketMap.length} vbuckets instead of ${vbucketCount}`,
      );
    const byServer = new Map<number, number[]>();
    for (const [vb, [active = -1]] of vBucketMap.entries()) {
      if (active < 0) throw new BackupError(`bucket "${bucket}": no node serves vbucket ${vb} at the moment`);
      const vbuckets = byServer.get(active);
      if (vbuckets === undefined) byServer.set(active, [vb]);
      else vbuckets.push(vb);
    }
    return [...byServer].map(([server, vbuckets]) => ({
      options: this.clientOptions(bucket, String(addresses[server])),
      vbuckets,
    }));
  }

  async mayWriteMetadata(bucket: string): Promise<boolean> {
    const path = '/pools/default/checkPermissions';
    const permission = `cluster.bucket[${bucket}].data.meta!write`;
    const answer = await this.ask('POST', path, permission);
    return this.converted('POST', path, () => Object(this.json('POST', path, answer))[permission] === true);
  }

  /** Runs a statement on a query service of the cluster; resolves with its error, null without one. */
  async runStatement(statement: string): Promise<string | null> {
    const service = this.hasTls ? 'n1qlSSL' : 'n1ql';
    const node = await this.read('/pools/default/nodeServices', ({ nodesExt }: NodeServices) => {
      const running = nodesExt.filter(({ services }) => services[service] !== undefined);
      // The account of a service exists on its own node only.
      return running.find(({ thisNode }) => thisNode === true) ?? running[0];
    });
    if (node === undefined) return 'no node runs the query service';
    const host = reachedHost(node.hostname, this.access.host);
    const port = node.services[service] as number;
    const target = { ...this.target, host, port, timeoutMs: statementTimeoutMs };
    const answer = await this.ask('POST', '/query/service', JSON.stringify({ statement }), target);
    return this.converted('POST', '/query/service', () => {
      const { errors = [] } = JSON.parse(answer.body) as { errors?: { code: number; msg: string }[] };
      return errors.length === 0 ? null : errors.map(({ code, msg }) => `${code}: ${msg}`).join('; ');
    });
  }

  private clientOptions(bucket: string, server: string): BucketClientOptions {
    const { host, username, password, localAddress, authority } = this.access;
    const { host: name, port } = hostAndPortOf(server);
    if (!(Number.isInteger(port) && port > 0 && port <= 65_535))
      throw new BackupError(`bucket "${bucket}": the node names "${server}" as the address of a data port`);
    return {
      address: {
        host: reachedHost(name, host),
        port,
        timeoutMs,
        localAddress,
        tls: serverTls(authority),
      },
      account: { username, password },
      bucket,
    };
  }

  /** What `convert` makes of the answer, which may come from any program. @throws BackupError */
  private async read<T, Raw>(path: string, convert: (answer: Raw) => T): Promise<T> {
    const answer = await this.ask('GET', path);
    return this.converted('GET', path, () => convert(this.json('GET', path, answer) as Raw));
  }

  /** Says that the answer is wrong where `convert` fails. @throws BackupError */
  private converted<T>(method: string, path: string, convert: () => T): T {
    try {
      return convert();
    } catch (error) {
      if (error instanceof BackupError) throw error;
      throw new BackupError(
        `${method} ${path}: the answer is not that of a node: ${(error as Error).message}`,
      );
    }
  }

  private json(method: string, path: string, answer: RestReply): unknown {
    if (answer.status === 401)
      throw new BackupError(`the node refuses the user "${this.access.username}" with this password`);
    if (answer.status >= 300) throw asBackupError(refusal(method, path, answer));
    try {
      return JSON.parse(answer.body);
    } catch {
      throw new BackupError(`${method} ${path}: the answer is not JSON; is it the address of a node?`);
    }
  }

  private async ask(
    method: string,
    path: string,
    content?: RestContent,
    target = this.target,
  ): Promise<RestReply> {
    const { host, port } = target;
    try {
      return await rest(target, method, path, content);
    } catch (error) {
      this.target.signal?.throwIfAborted();
      throw new BackupError(`cannot reach ${host}:${port}: ${connectionProblem(error)}`);
    }
  }

  private async send(method: string, path: string, content?: RestContent): Promise<void> {
    try {
      await restOk(this.target, method, path, content);
    } catch (error) {
      this.target.signal?.throwIfAborted();
      throw asBackupError(error as Error);
    }
  }
}

interface CollectionPath {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

interface RawBucket {
  name: string;
  uuid: string;
  bucketType: string;
  quota: { rawRAM: number };
  replicaNumber?: number;
  replicaIndex?: boolean;
  evictionPolicy?: string;
  conflictResolutionType?: string;
  maxTTL?: number;
  compressionMode?: string;
  durabilityMinLevel?: string;
  controllers: { flush?: string };
  basicStats: { itemCount?: number };
}

interface RawIndex {
  bucket: string;
  scope?: string;
  collection?: string;
  indexName: string;
  definition: string;
  replicaId: number;
}

interface NodeServices {
  nodesExt: { hostname?: string; thisNode?: boolean; services: Record<string, number> }[];
}

/** The routes by the map that the node has. Other nodes do not know the account of the service: they accept the certificate of this node instead. */
function ownRoutes(
  bucket: string,
  { address, layout }: OwnCluster,
  account: BucketClientOptions['account'],
): DataRoute[] {
  if (layout === null)
    return [
      {
        options: { address, account, bucket },
        vbuckets: Array.from({ length: vbucketCount }, (_, vb) => vb),
      },
    ];
  const routes = new ClusterRoutes(layout);
  return [...routes.vbuckets(bucket)].map(([node, vbuckets]) => {
    const found = node === layout.self ? address : node !== null && addressOfNode(routes, node);
    if (!found)
      throw new BackupError(`bucket "${bucket}": no node serves vbucket ${vbuckets[0]} at the moment`);
    return { options: { address: found, account, bucket }, vbuckets };
  });
}

/** `settings` of the result: the form that creates such a bucket. */
function bucketOf(raw: RawBucket): NodeBucket {
  const isEphemeral = raw.bucketType === 'ephemeral';
  const settings: Record<string, string | number | undefined> = {
    bucketType: raw.bucketType,
    ramQuotaMB: Math.max(1, Math.round(raw.quota.rawRAM / (1 << 20))),
    replicaNumber: raw.replicaNumber,
    replicaIndex: isEphemeral || raw.replicaIndex === undefined ? undefined : Number(raw.replicaIndex),
    evictionPolicy: raw.evictionPolicy,
    conflictResolutionType: raw.conflictResolutionType,
    maxTTL: raw.maxTTL,
    compressionMode: raw.compressionMode,
    durabilityMinLevel: raw.durabilityMinLevel,
    flushEnabled: raw.controllers.flush === undefined ? 0 : 1,
  };
  const reported = Object.entries(settings).filter(([, value]) => value !== undefined);
  return {
    name: raw.name,
    uuid: raw.uuid,
    settings: Object.fromEntries(reported) as BucketSettings,
    itemCount: raw.basicStats.itemCount ?? 0,
  };
}

const bucketPath = (name: string): string => `/pools/default/buckets/${encodeURIComponent(name)}`;
const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');
const asBackupError = (error: Error): BackupError => new BackupError(connectionProblem(error));
