// Many requests over several connections, in batches; a temporary failure is repeated after a pause, as clients do.

import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { clientFeatures } from './client-features.ts';
import { KvConnection, type Reply } from './kv-connection.ts';
import { Opcode } from './opcodes.ts';

const batchSize = 64;
/** A shorter one makes most of the repeated requests fail again. */
const pauseMs = 15;

export class Bulk implements Disposable {
  private readonly connections: KvConnection[];
  /** Requests that were repeated. */
  repeated = 0;

  private constructor(connections: KvConnection[]) {
    this.connections = connections;
  }

  static async open(port: number, user: string, bucket = 'b', count = 4): Promise<Bulk> {
    const connections: KvConnection[] = [];
    for (let i = 0; i < count; i++) {
      const connection = await KvConnection.open(port);
      await connection.hello(clientFeatures);
      await connection.plain(user, 'password');
      const { status } = await connection.select(bucket);
      if (status !== Status.success) throw new Error(`cannot select ${bucket}: status ${status}`);
      connections.push(connection);
    }
    return new Bulk(connections);
  }

  /** `check` is called with each final reply. Ends early, without an error, when the node is gone and `endsWithNode`. */
  async run(
    count: number,
    request: (i: number) => RequestParts,
    check: (i: number, reply: Reply) => void,
    endsWithNode = false,
  ): Promise<void> {
    let next = 0;
    const work = async (connection: KvConnection): Promise<void> => {
      while (next < count) {
        const from = next;
        next = Math.min(next + batchSize, count);
        let batch = Array.from({ length: next - from }, (_, at) => from + at);
        while (batch.length > 0) {
          const left = await this.batch(connection, batch, request, check);
          if (left === null && endsWithNode) return;
          if (left === null) throw new Error('the connection was closed instead of a reply');
          this.repeated += left.length;
          batch = left;
          if (batch.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      }
    };
    await Promise.all(this.connections.map(work));
  }

  async stats(): Promise<Map<string, string>> {
    const [connection] = this.connections as [KvConnection];
    const found = new Map<string, string>();
    connection.send({ opcode: Opcode.stat });
    for (;;) {
      const reply = await connection.next();
      if (reply === null || reply.status !== Status.success) throw new Error('no statistics');
      if (reply.key.length === 0) return found;
      found.set(reply.key.toString(), reply.value.toString());
    }
  }

  /** What must be repeated; null when the connection ended. */
  private async batch(
    connection: KvConnection,
    batch: readonly number[],
    request: (i: number) => RequestParts,
    check: (i: number, reply: Reply) => void,
  ): Promise<number[] | null> {
    connection.send(...batch.map(request));
    const left: number[] = [];
    for (const i of batch) {
      const reply = await connection.next();
      if (reply === null) return null;
      if (reply.status === Status.temporaryFailure) left.push(i);
      else check(i, reply);
    }
    return left;
  }

  [Symbol.dispose](): void {
    for (const connection of this.connections) connection.close();
  }
}
