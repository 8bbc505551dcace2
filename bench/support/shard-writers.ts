// Writes to some vbuckets of a cluster, one request of each in flight, at whichever node serves the vbucket: shows how fast clients write while
// shards move, and for how long a vbucket takes no write while its shard is handed over. As in a client of an application, all requests to
// a node share a connection: a connection for each would take so much processor time here that the nodes would lack it.

import { openOnBucket } from '../../src/client/bucket-client.ts';
import type { WireConnection } from '../../src/client/wire-connection.adapter.ts';
import { SetDocument } from '../../src/wire/commands/documents.ts';
import { type Frame, responseStatus } from '../../src/wire/frame.ts';
import type { RequestParts } from '../../src/wire/output.ts';
import { Status } from '../../src/wire/status.ts';
import { dataAddress } from '../../test/support/addresses.ts';
import { keyOf, words } from '../../test/support/data-client.ts';
import { administrator, type NodeProcess } from '../../test/support/node-process.ts';

export interface WriterFigures {
  /** Successful writes a second. */
  readonly rate: number;
  /** For each vbucket that moved meanwhile, the longest time without a successful write; sorted. */
  readonly handoversMs: readonly number[];
}

interface Writer {
  readonly request: RequestParts;
  /** The index of the node that took the last write. */
  at: number;
  /** The index of the node to which the next write is sent. */
  asked: number;
  lastMs: number;
  longestMs: number;
  moves: number;
}

/** The pause before a refused write is repeated at the next node. */
const retryPauseMs = 1;

export class ShardWriters {
  private readonly nodes: readonly NodeProcess[];
  private readonly bucket: string;
  private readonly pauseMs: number;
  private readonly writers: Writer[];
  private readonly connections: (WireConnection | undefined)[] = [];
  private readonly opening = new Map<number, Promise<void>>();
  private isStopped = false;
  private count = 0;
  private sinceMs = performance.now();

  /** The nodes are all that may serve the vbuckets, now or later. `pauseMs`: after each write. */
  constructor(nodes: readonly NodeProcess[], bucket: string, vbuckets: readonly number[], pauseMs: number) {
    this.nodes = nodes;
    this.bucket = bucket;
    this.pauseMs = pauseMs;
    this.writers = vbuckets.map((vb) => ({
      request: {
        opcode: SetDocument.opcode,
        vb,
        key: keyOf('written'),
        extras: words(0, 0),
        value: Buffer.alloc(256, 'v'),
      },
      at: 0,
      asked: 0,
      lastMs: performance.now(),
      longestMs: 0,
      moves: 0,
    }));
    for (const writer of this.writers) this.write(writer);
  }

  /** What happened since the last call. */
  figures(): WriterFigures {
    const nowMs = performance.now();
    const rate = (this.count * 1000) / (nowMs - this.sinceMs);
    const moved = this.writers.filter(({ moves }) => moves > 0);
    const handoversMs = moved.map(({ longestMs }) => longestMs).sort((a, b) => a - b);
    for (const writer of this.writers) Object.assign(writer, { longestMs: 0, moves: 0 });
    this.count = 0;
    this.sinceMs = nowMs;
    return { rate, handoversMs };
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.opening.values());
    for (const connection of this.connections) connection?.close();
  }

  private write(writer: Writer): void {
    if (this.isStopped) return;
    const connection = this.connections[writer.asked];
    if (connection !== undefined && !connection.isClosed)
      connection.send(writer.request, (reply) => this.answered(writer, reply));
    else void this.open(writer.asked).then(() => this.writeLater(writer, retryPauseMs));
  }

  /** Resolves also if the node does not have the bucket yet. */
  private open(index: number): Promise<void> {
    const present = this.opening.get(index);
    if (present !== undefined) return present;
    const address = dataAddress(this.nodes[index] as NodeProcess);
    const opening = openOnBucket({ address, account: administrator, bucket: this.bucket })
      .then((connection) => {
        this.connections[index] = connection;
      })
      .catch(() => {})
      .finally(() => this.opening.delete(index));
    this.opening.set(index, opening);
    return opening;
  }

  private answered(writer: Writer, reply: Frame | null): boolean {
    const isWritten = reply !== null && responseStatus(reply) === Status.success;
    if (isWritten) this.note(writer);
    // The node does not serve the vbucket: ask the next one, as a client does.
    else writer.asked = (writer.asked + 1) % this.nodes.length;
    this.writeLater(writer, isWritten ? this.pauseMs : retryPauseMs);
    return true;
  }

  private writeLater(writer: Writer, afterMs: number): void {
    if (afterMs === 0) this.write(writer);
    else setTimeout(() => this.write(writer), afterMs);
  }

  private note(writer: Writer): void {
    const nowMs = performance.now();
    writer.longestMs = Math.max(writer.longestMs, nowMs - writer.lastMs);
    writer.lastMs = nowMs;
    if (writer.at !== writer.asked) writer.moves++;
    writer.at = writer.asked;
    this.count++;
  }
}
