// All documents and tombstones of a bucket as change streams show them, and the differences of two such states.
import { BackupNode, type DataRoute } from '#backup/node/backup-node.ts';
import type { Change } from '#client/change.ts';
import { ChangeConnection, type ChangeHandler } from '#client/change-connection.ts';
import { EndReason } from '#wire/dcp.ts';
import { administrator, type NodeProcess } from './node-process.ts';

export interface SeenVersion {
  kind: 'mutation' | 'deletion' | 'expiration';
  cas: bigint;
  rev: number;
  flags: number;
  /** 0 for tombstones, whose time of deletion is each node's own. */
  expiry: number;
  isJson: boolean;
  xattrs: string;
  body: string;
}

/** By `scope.collection/key`. */
export type BucketState = Map<string, SeenVersion>;

export function backupNode({ ready }: NodeProcess): BackupNode {
  const { hostname, port } = new URL(ready.node.rest);
  return new BackupNode({ host: hostname, port: Number(port), ...administrator });
}

/** Requires a bucket without work in progress. Documents of dropped collections are left out. */
export async function stateOf(node: BackupNode, bucket: string): Promise<BucketState> {
  const { collections } = await node.scopes(bucket);
  const names = new Map(collections.map(({ id, scope, name }) => [id, `${scope}.${name}`]));
  const state: BucketState = new Map();
  for (const route of await node.routes(bucket)) await readRoute(route, names, state);
  return state;
}

async function readRoute(
  { options, vbuckets }: DataRoute,
  names: ReadonlyMap<number, string>,
  state: BucketState,
): Promise<void> {
  const reader = new StateReader(names, state, vbuckets.length);
  const connection = await ChangeConnection.open({
    ...options,
    name: 'state-of-bucket',
    withXattrs: true,
    withDeletedXattrs: true,
    handler: reader,
  });
  const from = { uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 };
  const request = async (vb: number): Promise<void> => {
    const reply = await connection.request(vb, { from, until: 'latest' });
    if (reply.kind !== 'open') throw new Error(`the stream of ${vb}: ${JSON.stringify(reply)}`);
  };
  await Promise.all(vbuckets.map(request));
  const lost = await Promise.race([reader.done, connection.closed]);
  connection.close();
  if (lost !== undefined) throw lost;
}

class StateReader implements ChangeHandler {
  readonly done: Promise<void>;
  private readonly names: ReadonlyMap<number, string>;
  private readonly state: BucketState;
  private left: number;
  private finish: () => void;

  constructor(names: ReadonlyMap<number, string>, state: BucketState, left: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.names = names;
    this.state = state;
    this.left = left;
    this.done = promise;
    this.finish = resolve;
  }

  change(change: Change): void {
    const collection = this.names.get(change.collectionId);
    if (collection === undefined) return;
    const { kind, cas, rev, flags, isJson, buffer, xattrsStart, bodyStart } = change;
    this.state.set(`${collection}/${change.keyBytes.toString('latin1')}`, {
      kind,
      cas,
      rev,
      flags,
      isJson,
      expiry: kind === 'mutation' ? change.expiry : 0,
      xattrs: buffer.toString('latin1', xattrsStart, bodyStart),
      body: change.body.toString('latin1'),
    });
  }

  ended(_vb: number, reason: EndReason): void {
    if (reason !== EndReason.finished) throw new Error(`a stream ended with ${reason}`);
    if (--this.left === 0) this.finish();
  }

  opened(): void {}
  snapshot(): void {}
  advanced(): void {}
  event(): void {}
  drained(): void {}
}

/** What is missing, additional or different in `found`, one line each. */
export function differences(expected: BucketState, found: BucketState): string[] {
  const lines: string[] = [];
  for (const [key, version] of expected) {
    const other = found.get(key);
    if (other === undefined) lines.push(`${key} is missing`);
    else
      for (const name of Object.keys(version) as (keyof SeenVersion)[])
        if (version[name] !== other[name])
          lines.push(`${key}: ${name} is ${String(other[name])} instead of ${String(version[name])}`);
  }
  for (const key of found.keys()) if (!expected.has(key)) lines.push(`${key} should not be there`);
  return lines;
}
