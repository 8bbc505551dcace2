// The REST calls and statements of a reset.
import { type RestContent, type RestTarget, refusal, rest, restOk } from '#client/rest.adapter.ts';
import type { TestNodeAddresses } from '../types.ts';

export interface ListedScope {
  name: string;
  uid: string;
  collections: { name: string; uid: string; maxTTL?: number }[];
}

export interface ListedIndex {
  index: string;
  bucket: string;
  scope: string;
  collection: string;
  definition: string;
}

export interface ListedUser {
  id: string;
  domain: string;
}

const encode = encodeURIComponent;
const bucketPath = (bucket: string): string => `/pools/default/buckets/${encode(bucket)}`;

const targetOf = (address: string, account: { username: string; password: string }): RestTarget => {
  const { hostname, port } = new URL(address);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), ...account };
};

export class ResetRest {
  private readonly target: RestTarget;
  private readonly query: RestTarget | null;

  constructor({ rest: address, query }: TestNodeAddresses, account: { username: string; password: string }) {
    this.target = targetOf(address, account);
    this.query = query === undefined ? null : targetOf(query, account);
  }

  buckets(): Promise<{ name: string; uuid: string }[]> {
    return this.get('/pools/default/buckets?skipMap=true');
  }

  async createBucket(fields: Readonly<Record<string, string | number | boolean>>): Promise<void> {
    await restOk(this.target, 'POST', '/pools/default/buckets', fields);
  }

  async deleteBucket(bucket: string): Promise<void> {
    await restOk(this.target, 'DELETE', bucketPath(bucket));
  }

  /** Empties the bucket, whether or not its settings allow it. */
  async flush(bucket: string): Promise<void> {
    await restOk(this.target, 'POST', bucketPath(bucket), { flushEnabled: 1 });
    await restOk(this.target, 'POST', `${bucketPath(bucket)}/controller/doFlush`);
  }

  async forbidFlush(bucket: string): Promise<void> {
    await restOk(this.target, 'POST', bucketPath(bucket), { flushEnabled: 0 });
  }

  async scopes(bucket: string): Promise<ListedScope[]> {
    const { scopes } = await this.get<{ scopes: ListedScope[] }>(`${bucketPath(bucket)}/scopes`);
    return scopes.filter(({ name }) => name !== '_system');
  }

  /** Resolves when the data service has the scopes and collections. */
  async replaceScopes(bucket: string, scopes: readonly ListedScope[]): Promise<void> {
    const wanted = scopes.map(({ name, collections }) => ({
      name,
      collections: collections.map(({ name: collection, maxTTL }) => ({
        name: collection,
        ...(maxTTL && { maxTTL }),
      })),
    }));
    const body = JSON.stringify({ scopes: wanted });
    const answer = await restOk(this.target, 'PUT', `${bucketPath(bucket)}/scopes`, body);
    const { uid } = JSON.parse(answer.body) as { uid: string };
    await restOk(this.target, 'POST', `${bucketPath(bucket)}/scopes/@ensureManifest/${uid}`, {});
  }

  users(): Promise<ListedUser[]> {
    return this.get('/settings/rbac/users');
  }

  async putUser(name: string, fields: Readonly<Record<string, string>>): Promise<void> {
    await restOk(this.target, 'PUT', `/settings/rbac/users/local/${encode(name)}`, fields);
  }

  async deleteUser({ domain, id }: ListedUser): Promise<void> {
    await restOk(this.target, 'DELETE', `/settings/rbac/users/${encode(domain)}/${encode(id)}`);
  }

  groups(): Promise<{ id: string }[]> {
    return this.get('/settings/rbac/groups');
  }

  async deleteGroup({ id }: { id: string }): Promise<void> {
    await restOk(this.target, 'DELETE', `/settings/rbac/groups/${encode(id)}`);
  }

  /** Empty without the query service, which alone can change indexes. */
  async indexes(): Promise<ListedIndex[]> {
    if (this.query === null) return [];
    return (await this.get<{ indexes: ListedIndex[] }>('/indexStatus')).indexes;
  }

  async dropIndex({ index, bucket, scope, collection }: ListedIndex): Promise<void> {
    const [name, ...keyspace] = [index, bucket, scope, collection].map(
      (part) => `\`${part.replaceAll('`', '``')}\``,
    );
    await this.run(`DROP INDEX ${name} ON ${keyspace.join('.')}`);
  }

  /** Resolves when the statement has run; for an index, when it is online. */
  async run(statement: string): Promise<void> {
    if (this.query === null) throw new Error('the node has no query service');
    await this.expect(this.query, 'POST', '/query/service', JSON.stringify({ statement }));
  }

  private async get<T>(path: string): Promise<T> {
    return JSON.parse((await restOk(this.target, 'GET', path)).body) as T;
  }

  private async expect(
    target: RestTarget,
    method: string,
    path: string,
    content: RestContent,
  ): Promise<void> {
    const answer = await rest(target, method, path, content);
    if (answer.status >= 300 || /"status":\s*"(errors|fatal)"/.test(answer.body))
      throw refusal(method, path, answer);
  }
}
