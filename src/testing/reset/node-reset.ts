// reset(): restores the state of a node after its start. It compares the present lists of buckets, users, groups and indexes with those
// after the start, deletes what was added, and creates what is missing with the options of startNode().
import type { TestBucketOptions, TestNodeAddresses, UserOptions } from '../types.ts';
import {
  BucketDocuments,
  type CollectionIds,
  type ResetBucket,
  storeConfigured,
} from './bucket-documents.ts';
import { type ListedIndex, type ListedScope, type ListedUser, ResetRest } from './reset-rest.ts';

export interface ResetTarget {
  addresses: TestNodeAddresses;
  account: { username: string; password: string };
  buckets: readonly TestBucketOptions[];
  users: readonly UserOptions[];
}

interface CapturedBucket {
  options: TestBucketOptions;
  uuid: string;
  scopes: ListedScope[];
  /** Null for a cache, which has no change streams. */
  documents: BucketDocuments | null;
}

const requestTimeoutMs = 30_000;

export class NodeReset {
  private readonly rest: ResetRest;
  private readonly target: ResetTarget;
  private buckets: CapturedBucket[] = [];
  /** The records of the users after the start, by name. */
  private users = new Map<string, string>();
  private indexes: ListedIndex[] = [];

  private constructor(target: ResetTarget) {
    this.target = target;
    this.rest = new ResetRest(target.addresses, target.account);
  }

  static async capture(target: ResetTarget): Promise<NodeReset> {
    const reset = new NodeReset(target);
    await reset.capture();
    return reset;
  }

  async run(): Promise<void> {
    const { rest } = this;
    const [buckets, users, groups, indexes] = await Promise.all([
      rest.buckets(),
      rest.users(),
      rest.groups(),
      rest.indexes(),
    ]);
    const hasChanged = await this.restoreBuckets(buckets);
    // After the buckets: roles name them, and dropping a bucket or collection removes its roles and indexes.
    await this.restoreUsers(hasChanged ? await rest.users() : users);
    for (const group of groups) await rest.deleteGroup(group);
    await this.restoreIndexes(hasChanged ? await rest.indexes() : indexes);
  }

  private async capture(): Promise<void> {
    const { rest, target } = this;
    const [present, users, indexes] = await Promise.all([rest.buckets(), rest.users(), rest.indexes()]);
    this.setUsers(users);
    this.indexes = indexes;
    this.buckets = await Promise.all(
      target.buckets.map(async (options): Promise<CapturedBucket> => {
        const { name } = options;
        const documents = isCache(options) ? null : new BucketDocuments(this.dataTarget(name));
        const scopes = await rest.scopes(name);
        await documents?.capture(idsIn(scopes));
        return {
          options,
          uuid: present.find((bucket) => bucket.name === name)?.uuid ?? '',
          scopes,
          documents,
        };
      }),
    );
  }

  private dataTarget(bucket: string): ResetBucket {
    const { hostname, port } = new URL(
      this.target.addresses.kv.replace(/^(couchbase:\/\/)?/, 'couchbase://'),
    );
    const host = hostname.replace(/^\[|\]$/g, '');
    const address = { host, port: Number(port), timeoutMs: requestTimeoutMs };
    return { address, account: this.target.account, bucket };
  }

  /** Resolves with whether buckets, scopes or collections were created or dropped. */
  private async restoreBuckets(present: readonly { name: string; uuid: string }[]): Promise<boolean> {
    const uuids = new Map(present.map(({ name, uuid }) => [name, uuid]));
    const isCaptured = ({ name, uuid }: { name: string; uuid: string }): boolean =>
      this.buckets.some((captured) => captured.options.name === name && captured.uuid === uuid);
    // One after another: each changes the same configuration, and new buckets need the memory of deleted ones.
    const extra = present.filter((bucket) => !isCaptured(bucket));
    for (const bucket of extra) await this.rest.deleteBucket(bucket.name);
    const missing = this.buckets.filter(({ options, uuid }) => uuids.get(options.name) !== uuid);
    for (const captured of missing) {
      await this.rest.createBucket(fieldsOf(captured.options));
      captured.documents?.readAllNext();
    }
    if (missing.length > 0) await this.readUuids();
    const haveChanged = await Promise.all(this.buckets.map((captured) => this.restoreBucket(captured)));
    return extra.length + missing.length > 0 || haveChanged.includes(true);
  }

  private async readUuids(): Promise<void> {
    const present = await this.rest.buckets();
    for (const captured of this.buckets)
      captured.uuid = present.find(({ name }) => name === captured.options.name)?.uuid ?? '';
  }

  /** Resolves with whether scopes or collections were created or dropped. */
  private async restoreBucket(captured: CapturedBucket): Promise<boolean> {
    const { name } = captured.options;
    const present = await this.rest.scopes(name);
    const hasChanged = comparableText(present) !== comparableText(captured.scopes);
    if (hasChanged) await this.rest.replaceScopes(name, captured.scopes);
    await this.restoreDocuments(captured, idsIn(hasChanged ? await this.rest.scopes(name) : present));
    return hasChanged;
  }

  private async restoreDocuments({ options, documents }: CapturedBucket, ids: CollectionIds): Promise<void> {
    const { name } = options;
    if (await documents?.restore(ids)) return;
    await this.rest.flush(name);
    if (Number(options.parameters?.['flushEnabled'] ?? 0) !== 1) await this.rest.forbidFlush(name);
    if (documents === null) await storeConfigured(this.dataTarget(name), options, ids);
    else if (!(await documents.restore(ids)))
      throw new Error(`reset: bucket "${name}" has documents that cannot be changed`);
  }

  private async restoreUsers(present: readonly ListedUser[]): Promise<void> {
    const { rest, target } = this;
    const isWanted = (user: ListedUser): boolean => user.domain === 'local' && this.users.has(user.id);
    for (const user of present) if (!isWanted(user)) await rest.deleteUser(user);
    const records = new Map(present.filter(isWanted).map((user) => [user.id, JSON.stringify(user)]));
    const changed = target.users.filter(({ name }) => records.get(name) !== this.users.get(name));
    for (const { name, password, displayName = '', roles = [] } of changed)
      await rest.putUser(name, { password, name: displayName, roles: roles.join(','), groups: '' });
    if (changed.length > 0) this.setUsers(await rest.users());
  }

  private setUsers(users: readonly ListedUser[]): void {
    this.users = new Map(users.map((user) => [user.id, JSON.stringify(user)]));
  }

  private async restoreIndexes(present: readonly ListedIndex[]): Promise<void> {
    const isIn = (list: readonly ListedIndex[], wanted: ListedIndex): boolean =>
      list.some((index) => identityOf(index) === identityOf(wanted));
    for (const index of present) if (!isIn(this.indexes, index)) await this.rest.dropIndex(index);
    for (const index of this.indexes) if (!isIn(present, index)) await this.rest.run(index.definition);
  }
}

const identityOf = ({ bucket, scope, collection, index, definition }: ListedIndex): string =>
  JSON.stringify([bucket, scope, collection, index, definition]);

const idsIn = (scopes: readonly ListedScope[]): CollectionIds =>
  new Map(
    scopes.flatMap((scope) =>
      scope.collections.map(({ name, uid }) => [`${scope.name}.${name}`, Number.parseInt(uid, 16)] as const),
    ),
  );

/** Compares scopes and collections without their ids and order. */
const comparableText = (scopes: readonly ListedScope[]): string =>
  JSON.stringify(
    scopes
      .map(
        ({ name, collections }) =>
          [
            name,
            collections.map((collection) => `${collection.name} ${collection.maxTTL ?? 0}`).sort(),
          ] as const,
      )
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

const isCache = ({ type }: TestBucketOptions): boolean => type === 'memcached' || type === 'cache';

function fieldsOf(bucket: TestBucketOptions): Record<string, string | number | boolean> {
  const { name, type: bucketType = 'couchbase', ramQuotaMB = 100, replicaNumber = 0, parameters } = bucket;
  const replicas = isCache(bucket) ? {} : { replicaNumber };
  return { name, bucketType, ramQuotaMB, ...replicas, ...parameters };
}
