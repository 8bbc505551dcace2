// SIGTERM and SIGINT stop a process cleanly, during its start as well; a second one ends it at once. SIGHUP is ignored: nothing is
// read again while a process runs, and a closed terminal is no request to stop.
import { type Clock, realClock } from '#ports/clock.ts';
import { endWithOutput } from './standard-output.ts';

const exitOnSecond = 130;
const checkEveryMs = 500;

export class Shutdown {
  private stop: (() => Promise<void>) | null = null;
  private running: Promise<never> | null = null;

  /** Creates the one object that ends this process on signals. */
  static onSignals(): Shutdown {
    const shutdown = new Shutdown();
    const request = (): void => shutdown.request();
    process.on('SIGTERM', request);
    process.on('SIGINT', request);
    process.on('SIGHUP', () => {});
    const npmCommand = process.env['npm_command'];
    stopWithLauncher(() => shutdown.launcherEnded(), {
      npmCommand,
      parent: () => process.ppid,
      clock: realClock,
    });
    // A closed terminal or pipe does not fail the process; output is lost.
    process.stdout.off('error', endWithOutput);
    for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
    return shutdown;
  }

  /** `stop` runs before the process exits. */
  stopWith(stop: () => Promise<void>): void {
    this.stop = stop;
  }

  request(): void {
    if (this.running !== null) process.exit(exitOnSecond);
    this.running = this.end();
  }

  /** A signal to the process group reaches this process and its launcher: that the launcher ends is no second signal. */
  launcherEnded(): void {
    if (this.running === null) this.request();
  }

  /** Runs a start. A failure after a signal is not reported: the stop ends the process. */
  async whileStarting(start: () => Promise<void>): Promise<void> {
    try {
      await start();
    } catch (error) {
      if (this.running === null) throw error;
      await this.running;
    }
  }

  private async end(): Promise<never> {
    try {
      await this.stop?.();
    } catch (error) {
      process.stderr.write(`divan: stopping failed: ${(error as Error).message}\n`);
      process.exit(1);
    }
    process.exit(0);
  }
}

export interface LaunchContext {
  /** Set by npm for the processes that it starts. */
  readonly npmCommand: string | undefined;
  readonly parent: () => number;
  readonly clock: Pick<Clock, 'after'>;
}

/**
 * Calls `stop` when npm, which started this process, has ended (another process is then the parent): npm passes no signal on, and
 * `npx divan node & kill $!` would leave the node running.
 */
export function stopWithLauncher(stop: () => void, { npmCommand, parent, clock }: LaunchContext): void {
  if (npmCommand === undefined) return;
  const first = parent();
  const check = (): void => {
    if (parent() === first) clock.after(checkEveryMs, check);
    else stop();
  };
  clock.after(checkEveryMs, check);
}
