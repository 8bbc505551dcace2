// Random writes of all kinds on a bucket: documents, deletions, expirations, attributes, metadata of other clusters, collections.
import type { BackupNode } from '#backup/node/backup-node.ts';
import { BucketClient, type StoreRequest } from '#client/bucket-client.ts';
import { documentKey, vbucketOf } from '#client/document-key.ts';
import { DeleteWithMeta, SetWithMeta } from '#wire/commands/documents.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { type Random, randomBytes, randomJson } from './random.ts';

/** An expiry in the year 2096, in seconds. */
const farExpiry = 4_000_000_000;
/** Options of a write with metadata: no conflict resolution; the deletion is an expiration. */
const skipsResolution = 8;
const isExpiration = 16;
/** The flag by which a sub-document write creates the document. */
const mkdoc = 0x01;

export class BackupHistory {
  private readonly random: Random;
  private readonly node: BackupNode;
  private readonly bucket: string;
  private readonly client: BucketClient;
  /** The CAS of the next write with metadata. */
  private nextCas = 1_700_000_000_000_000_000n;
  private collectionCount = 0;

  private constructor(random: Random, node: BackupNode, bucket: string, client: BucketClient) {
    this.random = random;
    this.node = node;
    this.bucket = bucket;
    this.client = client;
  }

  static async start(random: Random, node: BackupNode, bucket: string): Promise<BackupHistory> {
    const [route] = await node.routes(bucket);
    if (route === undefined) throw new Error('the bucket has no node');
    return new BackupHistory(random, node, bucket, await BucketClient.open(route.options));
  }

  close(): void {
    this.client.close();
  }

  /** Makes at most `writes` writes in each collection; one step in three creates or drops a collection first. */
  async step(writes: number): Promise<void> {
    if (this.random(3) === 0) await this.changeCollections();
    const { collections } = await this.node.scopes(this.bucket);
    const ids = collections.map(({ id }) => id).filter((id) => id === 0 || id >= 8);
    for (const id of ids) {
      const count = this.random(writes) + 1;
      await this.client.storeMany(
        id,
        Array.from({ length: count }, () => this.write()),
      );
      await Promise.all(Array.from({ length: this.random(20) }, () => this.writeWithMeta(id)));
    }
  }

  private async changeCollections(): Promise<void> {
    const { collections } = await this.node.scopes(this.bucket);
    const shopCollections = collections.filter(({ scope }) => scope === 'shop');
    const victim = shopCollections[this.random(shopCollections.length)];
    if (victim !== undefined && shopCollections.length > 2) {
      await drop(this.node, this.bucket, victim.name);
      // Sometimes a collection of the same name is created again, with another id.
      if (this.random(2) === 0)
        await this.node.addCollections(this.bucket, { scopes: [], collections: [victim] });
      return;
    }
    const name = `c${this.collectionCount++}`;
    const added = [{ scope: 'shop', name, maxTtl: 0 }];
    await this.node.addCollections(this.bucket, { scopes: [], collections: added });
  }

  private key(): string {
    const number = this.random(400);
    return number < 3 ? 'ü'.repeat(number + 100) : `key ${number}`;
  }

  private write(): StoreRequest {
    const { random } = this;
    const key = this.key();
    const kind = random(10);
    const base = {
      key,
      cas: 0n,
      expiry: random(4) === 0 ? farExpiry + random(1000) : 0,
      flags: random(2 ** 32),
    };
    if (kind < 2) return { ...base, kind: 'remove', value: Buffer.alloc(0) };
    if (kind < 4) return { ...base, kind: 'set', value: Buffer.alloc(0), parts: this.attributes() };
    if (kind === 4) return { ...base, kind: 'set', value: randomBytes(random, random(3000)) };
    if (kind === 5) return { ...base, kind: 'set', value: Buffer.alloc(0) };
    return { ...base, kind: 'set', value: Buffer.from(JSON.stringify(randomJson(random, 3))) };
  }

  private attributes(): NonNullable<StoreRequest['parts']> {
    const name = ['_sync', 'own', 'other'][this.random(3)] as string;
    const value = Buffer.from(JSON.stringify(randomJson(this.random, 2)));
    const flags = PathFlag.xattr;
    return { writes: [{ opcode: SubdocOpcode.dictUpsert, flags, path: name, value }], docFlags: mkdoc };
  }

  /** Writes a version as a replication from another cluster does; its revision and CAS may be lower than those of the stored one. */
  private async writeWithMeta(collectionId: number): Promise<void> {
    const key = this.key();
    const kind = this.random(3);
    const extras = Buffer.alloc(28);
    extras.writeUInt32BE(kind === 0 ? this.random(2 ** 32) : 0, 0);
    extras.writeBigUInt64BE(BigInt(this.random(1000) + 1), 8);
    extras.writeBigUInt64BE(this.nextCas++, 16);
    extras.writeUInt32BE(skipsResolution | (kind === 2 ? isExpiration : 0), 24);
    await this.client.connection.request({
      opcode: kind === 0 ? SetWithMeta.opcode : DeleteWithMeta.opcode,
      vb: vbucketOf(key),
      key: documentKey(collectionId, key),
      extras,
      value: Buffer.from(kind === 0 ? '"from elsewhere"' : ''),
    });
  }
}

async function drop(node: BackupNode, bucket: string, collection: string): Promise<void> {
  const { host, port, username, password } = node.access;
  const path = `/pools/default/buckets/${bucket}/scopes/shop/collections/${collection}`;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const answer = await fetch(`http://${host}:${port}${path}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  if (!answer.ok) throw new Error(await answer.text());
}
