// Reads documents from one node only, whatever the map says and without waiting for answers: a node that no longer serves a document
// must not answer what it had.
import { vbucketOf } from '#client/document-key.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { dataClientAt, get } from './data-client.ts';
import type { Reply } from './kv-connection.ts';
import type { Operation } from './linearizable.ts';
import type { Random } from './random.ts';

const features = [Feature.xerror, Feature.collections];
const unansweredMax = 1_000;
const readEveryMs = 15;

export interface DirectReaderOptions {
  host: string;
  port: number;
  bucket: string;
  keys: readonly string[];
  random: Random;
  note: (key: string, read: Operation) => void;
}

export class DirectReader {
  /** How many reads returned a value, or that the key is missing. */
  answers = 0;
  private readonly options: DirectReaderOptions;
  private isRunning = true;
  private readonly running: Promise<void>;

  constructor(options: DirectReaderOptions) {
    this.options = options;
    this.running = this.work();
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.running;
  }

  private async work(): Promise<void> {
    while (this.isRunning) {
      try {
        await this.readUntilClosed();
      } catch {
        // The node does not run, or refuses the connection.
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  private async readUntilClosed(): Promise<void> {
    const client = await dataClientAt(this.options, this.options.bucket, features);
    const unanswered: { key: string; calledAt: number }[] = [];
    const timer = setInterval(() => {
      if (unanswered.length === unansweredMax) return;
      const key = this.options.keys[this.options.random(this.options.keys.length)] as string;
      unanswered.push({ key, calledAt: performance.now() });
      client.send(get(key, { vb: vbucketOf(key) }));
    }, readEveryMs);
    try {
      while (this.isRunning) {
        const reply = await client.next();
        if (reply === null) return;
        const read = unanswered.shift();
        if (read) this.answered(read.key, read.calledAt, reply);
      }
    } finally {
      clearInterval(timer);
      client.close();
    }
  }

  private answered(key: string, calledAt: number, { status, value }: Reply): void {
    const answeredAt = performance.now();
    // With other statuses the state of the document is unknown.
    if (status !== Status.success && status !== Status.keyNotFound) return;
    const found = status === Status.success ? value.toString() : null;
    this.answers++;
    this.options.note(key, { kind: 'read', value: found, calledAt, answeredAt });
  }
}
