// Makes the ports of a running node follow the configuration: the plain ones listen on the configured host, or for this machine
// only; the ports between nodes open and close as their listeners are enabled and disabled.
import { loopbackHosts } from '#base/loopback.ts';
import type { DistPorts } from '#cluster/dist/dist-ports.host.ts';
import type { ListenPolicy } from '#cluster/encryption/listen-policy.ts';
import type { Listener } from '#http/listener.host.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';

export interface OpenPortsOptions {
  listening: Pick<ListenPolicy, 'isPlainForThisMachineOnly' | 'betweenNodes' | 'onChange'>;
  /** At the start each of them listens on the first of its hosts. */
  plain: readonly Listener[];
  dist: Pick<DistPorts, 'follow'>;
  /** The option `--host`. */
  host: string;
  log: Log;
  clock: Clock;
}

const drainTimeoutMs = 2_000;
const retryPauseMs = 1_000;

export class OpenPorts {
  readonly #options: OpenPortsOptions;
  readonly #stopped = new AbortController();
  #subscription: { stop(): void } | null = null;
  #hosts: string;
  #changes = 0;
  #applied = 0;
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: OpenPortsOptions) {
    this.#options = options;
    this.#hosts = this.#wantedHosts()[0] as string;
  }

  /** Resolves when the ports follow the configuration for the first time. */
  async start(): Promise<void> {
    this.#subscription = this.#options.listening.onChange(() => this.#noteChange());
    this.#noteChange();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the node stops'));
    this.#subscription?.stop();
    await this.#running;
  }

  #noteChange(): void {
    this.#changes++;
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#running = this.#run();
  }

  /** Repeats until no further change arrived meanwhile. */
  async #run(): Promise<void> {
    const { log, clock } = this.#options;
    while (this.#applied !== this.#changes && !this.#stopped.signal.aborted) {
      const changes = this.#changes;
      try {
        await this.#follow();
        this.#applied = changes;
      } catch (error) {
        log.error('ports.open_failed', { reason: (error as Error).message });
        await clock.sleep(retryPauseMs, this.#stopped.signal).catch(() => {}); // stopped: the loop sees it
      }
    }
    // In the same turn as the last check: a later change begins another run.
    this.#isRunning = false;
  }

  async #follow(): Promise<void> {
    const { listening, dist, plain, clock } = this.#options;
    const hosts = this.#wantedHosts();
    if (hosts.join() !== this.#hosts) {
      this.#hosts = '';
      await Promise.all(plain.map((listener) => listener.moveTo(hosts, clock, drainTimeoutMs)));
      this.#hosts = hosts.join();
    }
    await dist.follow(listening.betweenNodes);
  }

  #wantedHosts(): string[] {
    const { listening, host } = this.#options;
    return listening.isPlainForThisMachineOnly ? loopbackHosts(host) : [host];
  }
}
