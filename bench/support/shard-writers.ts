// Writes to some vbuckets of a cluster, one request of each in flight, at whichever node serves the vbucket: shows how fast clients write while
// shards move, and for how long a vbucket takes no write while its shard is handed over.
import { Status } from '../../src/wire/status.ts';
import { dataClient, set } from '../../test/support/data-client.ts';
import type { KvConnection } from '../../test/support/kv-connection.ts';
import type { NodeProcess } from '../../test/support/node-process.ts';

export interface WriterFigures {
  /** Successful writes a second. */
  readonly rate: number;
  /** For each vbucket that moved meanwhile, the longest time without a successful write; sorted. */
  readonly handoversMs: readonly number[];
}

interface Writer {
  readonly vb: number;
  /** The index of the node that took the last write. */
  at: number;
  lastMs: number;
  longestMs: number;
  moves: number;
  isStopped: boolean;
}

export class ShardWriters {
  private readonly nodes: readonly NodeProcess[];
  private readonly bucket: string;
  private readonly pauseMs: number;
  private readonly writers: Writer[];
  private readonly running: Promise<void>[];
  private count = 0;
  private sinceMs = performance.now();

  /** The nodes are all that may serve the vbuckets, now or later. `pauseMs`: after each write. */
  constructor(nodes: readonly NodeProcess[], bucket: string, vbuckets: readonly number[], pauseMs: number) {
    this.nodes = nodes;
    this.bucket = bucket;
    this.pauseMs = pauseMs;
    this.writers = vbuckets.map((vb) => ({
      vb,
      at: 0,
      lastMs: performance.now(),
      longestMs: 0,
      moves: 0,
      isStopped: false,
    }));
    this.running = this.writers.map((writer) => this.run(writer));
  }

  /** What happened since the last call. */
  figures(): WriterFigures {
    const now = performance.now();
    const rate = (this.count * 1000) / (now - this.sinceMs);
    const moved = this.writers.filter(({ moves }) => moves > 0);
    const handoversMs = moved.map(({ longestMs }) => longestMs).sort((a, b) => a - b);
    for (const writer of this.writers) Object.assign(writer, { longestMs: 0, moves: 0 });
    this.count = 0;
    this.sinceMs = now;
    return { rate, handoversMs };
  }

  async stop(): Promise<void> {
    for (const writer of this.writers) writer.isStopped = true;
    await Promise.all(this.running);
  }

  private async run(writer: Writer): Promise<void> {
    const clients = new Map<number, KvConnection>();
    const request = set('written', 'v'.repeat(256), { vb: writer.vb });
    try {
      for (let at = 0; !writer.isStopped; ) {
        const client = clients.get(at) ?? (await this.client(at));
        if (client !== null) clients.set(at, client);
        const status = (await client?.ask(request))?.status;
        const isWritten = status === Status.success;
        if (isWritten) this.note(writer, at);
        // The node does not serve the vbucket: ask the next one, as a client does.
        else at = (at + 1) % this.nodes.length;
        const pauseMs = isWritten ? this.pauseMs : 1;
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    } finally {
      for (const client of clients.values()) client.close();
    }
  }

  /** Null: the node does not have the bucket yet. */
  private client(at: number): Promise<KvConnection | null> {
    return dataClient(this.nodes[at] as NodeProcess, this.bucket).catch(() => null);
  }

  private note(writer: Writer, at: number): void {
    const now = performance.now();
    writer.longestMs = Math.max(writer.longestMs, now - writer.lastMs);
    writer.lastMs = now;
    if (writer.at !== at) writer.moves++;
    writer.at = at;
    this.count++;
  }
}
