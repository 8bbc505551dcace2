// Clients of a data service that runs in the test's thread.
import { BucketClient } from '#client/bucket-client.ts';
import type {
  ChangeConnection,
  ChangeHandler,
  FailoverEntry,
  StreamPosition,
} from '#client/change-connection.ts';
import type { FollowerHandler } from '#client/change-follower.ts';
import type { WireAddress } from '#client/wire-address.ts';

export const adminAccount = { username: 'admin', password: 'password' };
export const addressOf = (port: number): WireAddress => ({ host: '127.0.0.1', port, timeoutMs: 60_000 });

export const bucketClient = (port: number, bucket = 'b'): Promise<BucketClient> =>
  BucketClient.open({ address: addressOf(port), account: adminAccount, bucket });

export interface SeenChange {
  kind: string;
  vb: number;
  seqno: number;
  key: string;
  body: string;
  xattrBytes: number;
}

const startPosition = (): StreamPosition => ({ uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 });

/** Stores the changes that streams send, and the position of each stream. */
export class SeenChanges implements FollowerHandler {
  readonly changes: SeenChange[] = [];
  /** System events, as `KIND of COLLECTION_ID`. */
  readonly events: string[] = [];
  /** Ended streams, as `VBUCKET:REASON`. */
  readonly ends: string[] = [];
  /** As `VBUCKET:SEQNO`. */
  readonly rollbacks: string[] = [];
  readonly failoverLogs = new Map<number, readonly FailoverEntry[]>();
  readonly losses: string[] = [];
  private readonly positions = new Map<number, StreamPosition>();

  positionOf(vb: number): StreamPosition {
    return this.positions.get(vb) ?? startPosition();
  }

  opened(vb: number, log: readonly FailoverEntry[]): void {
    this.failoverLogs.set(vb, log);
    this.move(vb, { uuid: log[0]?.uuid ?? 0n });
  }

  rollback(vb: number, seqno: number): void {
    this.rollbacks.push(`${vb}:${seqno}`);
    this.move(vb, { seqno, snapshotStart: seqno, snapshotEnd: seqno });
  }

  lost(reason: Error): void {
    this.losses.push(reason.message);
  }

  change(change: Parameters<ChangeHandler['change']>[0]): void {
    const { kind, vb, seqno, key, bodyStart, xattrsStart } = change;
    const xattrBytes = bodyStart - xattrsStart;
    this.changes.push({ kind, vb, seqno, key, body: change.body.toString(), xattrBytes });
    this.move(vb, { seqno });
  }

  snapshot(vb: number, snapshotStart: number, snapshotEnd: number): void {
    this.move(vb, { snapshotStart, snapshotEnd });
  }

  advanced(vb: number, seqno: number): void {
    this.move(vb, { seqno });
  }

  event({ vb, seqno, kind, collectionId }: Parameters<ChangeHandler['event']>[0]): void {
    this.events.push(`${kind} of ${collectionId}`);
    this.move(vb, { seqno });
  }

  ended(vb: number, reason: number): void {
    this.ends.push(`${vb}:${reason}`);
  }

  drained(): void {}

  private move(vb: number, to: Partial<StreamPosition>): void {
    this.positions.set(vb, { ...this.positionOf(vb), ...to });
  }
}

/** Requests a stream from the position that the handler has reached; throws if the node refuses it. */
export async function requestStream(
  connection: ChangeConnection,
  seen: SeenChanges,
  vb: number,
): Promise<void> {
  const reply = await connection.request(vb, { from: seen.positionOf(vb) });
  if (reply.kind !== 'open') throw new Error(`the stream of vbucket ${vb}: ${JSON.stringify(reply)}`);
}
