// One node as a process of this machine: started, found again after this process was replaced, started anew when it dies.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock, Timer } from '#ports/clock.ts';
import { FolderInUseError, lockFolder } from '#ports/folder-lock.ts';
import type { Log } from '#ports/log.ts';
import type { NodeHealth, NodeSpec } from '../provisioner.ts';

const launcher = fileURLToPath(new URL('../../../../bin/divan.js', import.meta.url));
const logBytesMax = 1024 * 1024;
const lookMs = 100;
const startPatienceMs = 30_000;
const stopPatienceMs = 10_000;
const restartFirstMs = 500;
const restartMaxMs = 30_000;

export interface NodeProcessOptions {
  readonly spec: NodeSpec;
  readonly folder: string;
  /** Always let in by the node, and nobody else without an allowlist; undefined where there is no such address. */
  readonly operatorAddress: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class NodeProcess {
  readonly spec: NodeSpec;
  private readonly options: NodeProcessOptions;
  private child: ChildProcess | null = null;
  private pid: number | null = null;
  private state: NodeHealth = 'stopped';
  private timer: Timer | null = null;
  private deaths = 0;
  private wanted = true;

  constructor(options: NodeProcessOptions) {
    this.options = options;
    this.spec = options.spec;
  }

  get health(): NodeHealth {
    return this.state;
  }

  /** Finds the process of an earlier life, or starts one; resolves when it is ready. */
  async start(): Promise<void> {
    this.wanted = true;
    if (this.state === 'running') return;
    this.state = 'starting';
    mkdirSync(this.options.folder, { recursive: true, mode: 0o700 });
    this.pid = holderOf(this.options.folder);
    if (this.pid === null) this.launch();
    await this.untilReady();
    this.state = 'running';
    this.deaths = 0;
    if (this.child === null) this.watchStranger();
  }

  /** SIGKILL when nothing needs to be kept, SIGTERM otherwise. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.wanted = false;
    this.timer?.cancel();
    const pid =
      this.child?.pid ?? this.pid ?? (existsSync(this.options.folder) ? holderOf(this.options.folder) : null);
    if (pid !== null && pid !== undefined) await this.end(pid, signal);
    this.state = 'stopped';
    this.child = null;
    this.pid = null;
  }

  private async end(pid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { clock } = this.options;
    if (!send(pid, signal)) return;
    const deadline = clock.monotonicMs() + stopPatienceMs;
    while (this.lives(pid)) {
      if (clock.monotonicMs() > deadline) send(pid, 'SIGKILL');
      await clock.sleep(lookMs / 4);
    }
  }

  private lives(pid: number): boolean {
    if (this.child !== null && this.child.pid === pid)
      return this.child.exitCode === null && this.child.signalCode === null;
    return send(pid, 0);
  }

  private launch(): void {
    const { folder, operatorAddress } = this.options;
    const { address, ports, memoryMb, administrator } = this.spec;
    rmSync(join(folder, 'ready.json'), { force: true });
    const output = openLog(join(folder, 'node.log'));
    const flags: Record<string, string | number> = {
      'data-dir': folder,
      host: address,
      'rest-port': ports.rest,
      'rest-tls-port': ports.restTls,
      'kv-port': ports.kv,
      'kv-tls-port': ports.kvTls,
      'capi-port': ports.capi,
      'capi-tls-port': ports.capiTls,
      'dist-port': ports.dist,
      'dist-tls-port': ports.distTls,
      'memory-quota': memoryMb,
      'wire-names': 'branded',
      'ready-file': join(folder, 'ready.json'),
      ...(operatorAddress !== undefined && { 'operator-address': operatorAddress }),
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.child = spawn(process.execPath, [launcher, 'node', ...args], {
      detached: true, // it goes on serving when this process is replaced
      stdio: ['ignore', output, output],
      env: {
        ...surroundings(),
        DIVAN_USERNAME: administrator.username,
        DIVAN_PASSWORD: administrator.password,
      },
    });
    closeSync(output);
    this.pid = this.child.pid ?? null;
    this.child.unref();
    const child = this.child;
    child.on('error', (error) => this.died(child, error.message));
    child.on('exit', (code, signal) => this.died(child, `ended with ${code ?? signal}`));
  }

  private async untilReady(): Promise<void> {
    const { clock, folder } = this.options;
    const deadline = clock.monotonicMs() + startPatienceMs;
    while (!existsSync(join(folder, 'ready.json'))) {
      if (this.state === 'stopped')
        throw new Error(`the node ended before it was ready: ${lastLines(join(folder, 'node.log'))}`);
      if (clock.monotonicMs() > deadline) throw new Error(`the node was not ready in ${startPatienceMs} ms`);
      await clock.sleep(lookMs / 4);
    }
  }

  /** A process that an earlier life of this one started is nobody's child here: look now and then. */
  private watchStranger(): void {
    this.timer = this.options.clock.after(lookMs * 5, () => {
      if (this.pid !== null && send(this.pid, 0)) return this.watchStranger();
      this.died(null, 'is gone');
    });
  }

  private died(child: ChildProcess | null, reason: string): void {
    if (child !== this.child) return;
    const wasRunning = this.state === 'running';
    this.state = 'stopped';
    this.child = null;
    this.pid = null;
    if (!this.wanted) return;
    this.options.log.warn('node.died', { node: this.spec.id, reason });
    if (wasRunning) this.restartLater();
  }

  private restartLater(): void {
    const wait = Math.min(restartMaxMs, restartFirstMs * 2 ** Math.min(this.deaths++, 10));
    this.timer = this.options.clock.after(wait, () => {
      const { deaths } = this;
      this.start().then(
        () => (this.deaths = deaths),
        () => this.wanted && this.restartLater(),
      );
    });
  }
}

/** The process that has the folder; null when nobody does. */
function holderOf(folder: string): number | null {
  try {
    lockFolder(folder).release();
    return null;
  } catch (error) {
    if (error instanceof FolderInUseError) return error.pid;
    throw error;
  }
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Appends; the log of before is kept once. */
function openLog(path: string): number {
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}

function lastLines(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-400).trim() : 'it wrote nothing';
}

/** The environment without this process's own settings. */
const surroundings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DIVAN_')));
