// The cloud's client of a node's REST API and data port.
import { KvClient } from '#client/kv.adapter.ts';
import { type RestContent, type RestReply, type RestTarget, refusal, rest } from '#client/rest.adapter.ts';
import type { Clock } from '#ports/clock.ts';
import type { NodeSpec } from '../provisioner/provisioner.ts';
import { UnresponsiveNodeError } from './refusals.ts';

const kvTimeoutMs = 5_000;
const answerTimeoutMs = 30_000;
/** Health requests have a short time limit. */
const healthTimeoutMs = 3_000;
const bucketTimeoutMs = 10_000;
export const probeBucket = 'divan-probe';
const probeKey = 'divan:probe';
/** A node with active vbuckets serves at least one of this many keys, even in the largest cluster. */
const probeKeysMax = 1_000;

export class NodeClient {
  private readonly node: Pick<NodeSpec, 'address' | 'ports' | 'administrator'>;
  private readonly localAddress: string | undefined;
  private readonly clock: Clock;
  private readonly downReason: () => string | null;

  constructor(
    node: Pick<NodeSpec, 'address' | 'ports' | 'administrator'>,
    {
      localAddress,
      clock,
      downReason,
    }: { localAddress: string | undefined; clock: Clock; downReason: () => string | null },
  ) {
    this.node = node;
    this.localAddress = localAddress;
    this.clock = clock;
    this.downReason = downReason;
  }

  /** Resolves with the response of any status; throws UnresponsiveNodeError if there is none. */
  async send(
    method: string,
    path: string,
    content?: RestContent,
    timeoutMs = answerTimeoutMs,
  ): Promise<RestReply> {
    try {
      return await rest({ ...this.target, timeoutMs }, method, path, content);
    } catch (error) {
      const unexplained = `${(error as Error).message}; a node that has died is started again, so try again in a few seconds`;
      throw new UnresponsiveNodeError(this.downReason() ?? unexplained);
    }
  }

  /** Throws if the node refuses the request. */
  async request(method: string, path: string, content?: RestContent, timeoutMs?: number): Promise<string> {
    const answer = await this.send(method, path, content, timeoutMs);
    if (answer.status < 300) return answer.body;
    throw refusal(method, path, answer);
  }

  /** Health of the node; throws UnresponsiveNodeError if it does not answer in time or fails. */
  async requestHealth(path: string): Promise<string> {
    const answer = await this.send('GET', path, undefined, healthTimeoutMs);
    if (answer.status < 300) return answer.body;
    const refused = refusal('GET', path, answer);
    throw answer.status >= 500 ? new UnresponsiveNodeError(refused.message) : refused;
  }

  async put(path: string, json: unknown, timeoutMs?: number): Promise<void> {
    await this.request('PUT', path, JSON.stringify(json), timeoutMs);
  }

  async certificate(): Promise<string> {
    return this.request('GET', '/pools/default/certificate');
  }

  async createProbeBucket(): Promise<void> {
    const reply = await this.send('POST', '/pools/default/buckets', {
      name: probeBucket,
      ramQuotaMB: 100,
      replicaNumber: 0,
      bucketType: 'ephemeral',
    });
    if (reply.status !== 202 && !reply.body.includes('already exists'))
      throw new Error(`probe bucket: ${reply.status} ${reply.body}`);
  }

  /** Writes and reads a document through the advertised address, in the probe bucket. */
  async writeAndRead(): Promise<void> {
    const { address, ports, administrator } = this.node;
    const client = await KvClient.open(address, ports.kv, kvTimeoutMs, this.localAddress);
    try {
      await client.login(administrator.username, administrator.password);
      await client.select(probeBucket, bucketTimeoutMs);
      const key = await keyServedBy(client);
      const value = Buffer.from(`{"at":${this.clock.wallMs()}}`);
      await client.set({ collectionId: 0, key }, value, 0, bucketTimeoutMs);
      const reply = await client.get(0, key);
      if (reply.status !== 0 || !reply.value.equals(value))
        throw new Error('the data port returned a different document than was written');
    } finally {
      client.close();
    }
  }

  private get target(): RestTarget {
    const { address, ports, administrator } = this.node;
    return { host: address, port: ports.rest, ...administrator, localAddress: this.localAddress };
  }
}

/** A key whose vbucket is active on the client's node: other nodes serve the other keys. */
async function keyServedBy(client: KvClient): Promise<string> {
  for (let i = 0; i < probeKeysMax; i++) {
    const key = `${probeKey}:${i}`;
    if (await client.isServed(key)) return key;
  }
  throw new Error('the node has no documents of the probe bucket yet');
}
