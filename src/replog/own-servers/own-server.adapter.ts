// Runs a NATS server as a child of the node: it ends with the node, also where that is killed, and is started again when it ends by itself, or
// when it stores nothing any more.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { Random } from '#ports/random.ts';
import { probe } from '../nats/server-probe.adapter.ts';
import { ServerFolder } from './server-folder.adapter.ts';
import type { OwnServerSettings } from './server-settings.ts';

export interface OwnServerOptions {
  readonly folder: string;
  /** The path of the program; finds it when a server is first started. */
  program(): Promise<string>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The pause between checks whether the server stores; shorter in tests. */
  readonly storeCheckEveryMs?: number;
}

const storeCheckEveryMs = 10_000;
const startTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;
const checkEveryMs = 50;
/** Characters of its last output that are kept. */
const printedMax = 2_000;
const pauseMinMs = 500;
const pauseMaxMs = 15_000;

/**
 * Starts the server, and ends it when standard input closes: the pipe to the node closes when the node ends, however it ends.
 * `reader` is the subshell that waits for that.
 */
const untilInputCloses = `
exec 3<&0
"$@" 3<&- </dev/null & server=$!
( read -r _ <&3; kill -TERM "$server" ) 2>/dev/null & reader=$!
exec 3<&-
wait "$server"; code=$?
kill "$reader" 2>/dev/null
exit "$code"`;

export class OwnServer {
  readonly #options: OwnServerOptions;
  readonly #folder: ServerFolder;
  #child: ChildProcess | null = null;
  #stopping: AbortController | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: OwnServerOptions) {
    this.#options = options;
    this.#folder = new ServerFolder(options.folder);
  }

  /** Whether this node has a server. */
  get exists(): boolean {
    return this.#folder.settings !== null;
  }

  /** The program with which the server was made; null: there is none. */
  get program(): string | null {
    return this.#folder.program;
  }

  /** Name of this node's server among the others; null: it has none. */
  get name(): string | null {
    return this.exists ? this.#folder.name : null;
  }

  /** Starts the server that this node has, if it has one. Does not wait until the server can be used: that may need the other servers. */
  async startExisting(): Promise<void> {
    const { settings } = this.#folder;
    if (settings !== null && this.#stopping === null) this.#run(await this.#options.program(), settings);
  }

  /** Starts a new server in place of one that this node has. Resolves when it can be reached. */
  async startNew(settings: OwnServerSettings): Promise<void> {
    const program = await this.#options.program();
    await this.stop();
    this.#folder.renew(settings, program);
    this.#run(program, settings);
    await this.#untilReached(settings);
  }

  async stop(): Promise<void> {
    const { clock } = this.#options;
    const child = this.#child;
    this.#stopping?.abort(new Error('it stops'));
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      child.stdin?.end();
      const late = clock.after(stopTimeoutMs, () => killGroup(child));
      await once(child, 'exit');
      late.cancel();
    }
    await this.#running;
    this.#stopping = null;
  }

  /** Stops the server and removes all that it stored. */
  async remove(): Promise<void> {
    await this.stop();
    this.#folder.remove();
  }

  #run(program: string, settings: OwnServerSettings): void {
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#running = this.#keepRunning(program, settings, stopping.signal);
  }

  async #keepRunning(program: string, settings: OwnServerSettings, stopping: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options;
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
      const beganMs = clock.monotonicMs();
      try {
        await this.#endEarlier();
        if (stopping.aborted) return;
        this.#folder.prepare(settings, random);
        const reason = await this.#runOnce(program, settings);
        if (stopping.aborted) return;
        log.error('nats_server.ended', { reason, log: this.#folder.lastLines });
      } catch (error) {
        if (stopping.aborted) return;
        log.error('nats_server.not_started', { reason: (error as Error).message });
      }
      if (clock.monotonicMs() - beganMs > pauseMaxMs) pauseMs = pauseMinMs;
      await clock.sleep(pauseMs, stopping).catch(() => {}); // it stops
      if (stopping.aborted) return;
    }
  }

  /** Resolves with how the server ended. */
  async #runOnce(program: string, settings: OwnServerSettings): Promise<string> {
    const command = [program, '-c', this.#folder.configurationPath];
    const child = spawn('/bin/sh', ['-c', untilInputCloses, 'nats-server', ...command], {
      // Ctrl-C in a terminal ends the node first.
      detached: true,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#child = child;
    child.stdin.on('error', () => {}); // it ended
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    child.once('error', reject);
    // The server writes errors to standard error until it writes its log.
    let printed = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      printed = (printed + chunk).slice(-printedMax);
    });
    child.once('close', (code, signal) => resolve(`it ended with ${signal ?? code}: ${printed.trim()}`));
    const checks = this.#checkStore(child, settings);
    return promise.finally(() => {
      this.#child = null;
      void checks.stop();
    });
  }

  /** Ends the server once it stores nothing any more. It would otherwise continue without a store, and the cluster could not lose another server. */
  #checkStore(child: ChildProcess, { advertised: host, port }: OwnServerSettings): PeriodicTask {
    const { clock, log, storeCheckEveryMs: everyMs = storeCheckEveryMs } = this.#options;
    const checks = new PeriodicTask({
      everyMs,
      clock,
      onError: (error) => log.warn('nats_server.not_checked', { reason: error.message }),
    });
    checks.start(async () => {
      const found = await probe({ host, port });
      if (found === null || found.stores || this.#child !== child) return;
      log.error('nats_server.stores_nothing', { log: this.#folder.lastLines });
      child.stdin?.end();
    });
    return checks;
  }

  /** Ends a server of this folder whose node was killed: two on one store would destroy it. */
  async #endEarlier(): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + stopTimeoutMs;
    if (this.#pid === null) return;
    this.#kill('SIGTERM');
    while (this.#pid !== null) {
      if (clock.monotonicMs() > untilMs) this.#kill('SIGKILL');
      await clock.sleep(checkEveryMs);
    }
  }

  /** The process id of a running server of this folder; null: none runs. */
  get #pid(): number | null {
    const { pidPath, configurationPath } = this.#folder;
    if (!existsSync(pidPath)) return null;
    const pid = Number(readFileSync(pidPath, 'utf8'));
    if (!Number.isInteger(pid) || pid <= 1) return null;
    return commandOf(pid).includes(configurationPath) ? pid : null;
  }

  #kill(signal: NodeJS.Signals): void {
    const pid = this.#pid;
    if (pid === null) return;
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended.
    }
  }

  async #untilReached({ advertised: host, port }: OwnServerSettings): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + startTimeoutMs;
    while ((await probe({ host, port })) === null) {
      if (clock.monotonicMs() > untilMs)
        throw new Error(
          `the NATS server of this node does not answer at ${host}:${port}: ${this.#folder.lastLines}`,
        );
      await clock.sleep(checkEveryMs);
    }
  }
}

/** Kills the shell that runs the server, and the server: the shell was started with a process group of its own. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The processes have ended.
  }
}

/** Empty for a process that does not run. */
function commandOf(pid: number): string {
  const procPath = `/proc/${pid}/cmdline`;
  try {
    if (existsSync('/proc/self/cmdline')) return readFileSync(procPath, 'utf8');
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' });
  } catch {
    return '';
  }
}
