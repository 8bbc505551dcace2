// Says in the log, once a day, which certificates end soon or have ended.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { CertificateReport } from './certificate-report.ts';

const dayMs = 24 * 3_600_000;

export class ExpiryWatch {
  readonly #deps: { report: CertificateReport; clock: Clock; log: Log };
  #timer: Timer | null = null;

  constructor(deps: { report: CertificateReport; clock: Clock; log: Log }) {
    this.#deps = deps;
  }

  start(): void {
    const { report, clock, log } = this.#deps;
    for (const text of report.expiring()) log.warn('certificates.expiring', { text });
    this.#timer = clock.after(dayMs, () => this.start());
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
