// The NATS server that a node runs as a process of its own, for tests that kill or pause it.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A server that a fault can stop, pause and start again. */
export interface FaultyServer {
  stop(signal: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
}

export class OwnNatsServer implements FaultyServer {
  private readonly dataDir: string;
  /** The process id of the paused server; null: none was paused. */
  private pausedPid: number | null = null;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  /** Null while the server does not run. */
  get pid(): number | null {
    const file = join(this.dataDir, 'nats', 'nats.pid');
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    return pid > 1 && existsSync(`/proc/${pid}`) ? pid : null;
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.pid !== null) process.kill(this.pid, signal);
  }

  /** Does nothing: the node starts the server again by itself. */
  async start(): Promise<void> {}

  pause(): void {
    this.pausedPid = this.pid;
    if (this.pausedPid !== null) process.kill(this.pausedPid, 'SIGSTOP');
  }

  resume(): void {
    if (this.pausedPid !== null && existsSync(`/proc/${this.pausedPid}`))
      process.kill(this.pausedPid, 'SIGCONT');
  }

  /** Whether the configuration is stored on NATS servers, as the data folder of the node says. */
  get isUsed(): boolean {
    const path = join(this.dataDir, 'member.json');
    return existsSync(path) && 'nats' in (JSON.parse(readFileSync(path, 'utf8')) as object);
  }
}
