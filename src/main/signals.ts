// SIGTERM and SIGINT stop a process cleanly, during its start as well; a second one ends it at once. SIGHUP is ignored: nothing is
// read again while a process runs, and a closed terminal is no request to stop.
import { realClock } from '#ports/clock.ts';
import { stopWithLauncher } from './launcher.ts';

const exitOnSecond = 130;

export class Ending {
  private stop: (() => Promise<void>) | null = null;
  private underWay: Promise<never> | null = null;

  /** From here on signals end the process by this object. */
  static onSignals(): Ending {
    const ending = new Ending();
    const request = (): void => ending.request();
    process.on('SIGTERM', request);
    process.on('SIGINT', request);
    process.on('SIGHUP', () => {});
    const npmCommand = process.env['npm_command'];
    stopWithLauncher(request, { npmCommand, parent: () => process.ppid, clock: realClock });
    // A terminal or a pipe that is gone is no reason to fail; what is written there is lost.
    for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
    return ending;
  }

  /** What has to be stopped from now on. */
  stopWith(stop: () => Promise<void>): void {
    this.stop = stop;
  }

  request(): void {
    if (this.underWay !== null) process.exit(exitOnSecond);
    this.underWay = this.end();
  }

  /** Runs a start. When it fails because the process is being ended, the end decides the exit code. */
  async during(start: () => Promise<void>): Promise<void> {
    try {
      await start();
    } catch (error) {
      if (this.underWay === null) throw error;
      await this.underWay;
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
