// A node with the query and index services over one data folder, which a test stops and starts again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeProcess } from './node-process.ts';
import { QueryClient } from './query-client.ts';

export class RestartedNode {
  private readonly dataDir: string;
  private readonly bucket: string;
  private current: NodeProcess | null = null;

  /** The first start makes the bucket. */
  constructor(bucket: string) {
    this.dataDir = mkdtempSync(join(tmpdir(), `divan-${bucket}-`));
    this.bucket = bucket;
  }

  /** The process of the last start. */
  get process(): NodeProcess {
    if (this.current === null) throw new Error('the node was not started');
    return this.current;
  }

  get queries(): QueryClient {
    return new QueryClient(this.process.ready.node.query ?? '');
  }

  async start(): Promise<void> {
    const args = ['--services', 'kv,index,n1ql', '--bucket', this.bucket];
    this.current = await NodeProcess.start({ args, dataDir: this.dataDir, startMs: 120_000 });
  }

  /** Stops the process and removes the data folder. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.current?.[Symbol.asyncDispose]();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}
