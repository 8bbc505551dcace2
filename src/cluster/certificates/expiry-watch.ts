// Reports once a day, in the log and among the events, which certificates expire soon or have expired.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { CertificateReport } from './certificate-report.ts';

const dayMs = 24 * 3_600_000;

export interface ExpiryWatchDeps {
  report: CertificateReport;
  clock: Clock;
  log: Log;
  /** Called with each certificate that expires soon. */
  expiring(text: string): void;
}

export class ExpiryWatch {
  readonly #deps: ExpiryWatchDeps;
  #timer: Timer | null = null;

  constructor(deps: ExpiryWatchDeps) {
    this.#deps = deps;
  }

  start(): void {
    const { report, clock, log, expiring } = this.#deps;
    for (const text of report.expiring()) {
      log.warn('certificates.expiring', { text });
      expiring(text);
    }
    this.#timer = clock.after(dayMs, () => this.start());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
