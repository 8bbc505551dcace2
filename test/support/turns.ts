// The longest turns of the event loops of a node's threads, as `turn-probe.ts` measured them.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const probe = fileURLToPath(new URL('./turn-probe.ts', import.meta.url));

export class Turns implements Disposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'divan-turns-'));
  private sinceMs = Infinity;
  private readonly before = new Map<string, number>();

  /** For the environment of the process to measure. */
  get environment(): Record<string, string> {
    return { NODE_OPTIONS: `--require=${probe}`, DIVAN_TURNS: this.folder };
  }

  /** Counts turns from now on, until `pause`. The turns of a start are left out: they load code. */
  count(): void {
    // The probe reports every 250 ms; its next report still contains earlier turns.
    this.sinceMs = Date.now() + 300;
  }

  pause(): void {
    for (const [thread, ms] of this.longest()) this.before.set(thread, ms);
    this.sinceMs = Infinity;
  }

  /** Milliseconds of processor time, by thread. */
  longest(): Map<string, number> {
    const found = new Map(this.before);
    for (const file of readdirSync(this.folder)) {
      const lines = readFileSync(join(this.folder, file), 'utf8').trim().split('\n');
      const turns = lines
        .map((line) => line.split(' ').map(Number) as [number, number])
        .filter(([atMs]) => atMs >= this.sinceMs);
      const thread = file.replace('.turns', '');
      if (turns.length > 0) found.set(thread, Math.max(found.get(thread) ?? 0, ...turns.map(([, ms]) => ms)));
    }
    return found;
  }

  describe(): string {
    const parts = [...this.longest()].map(([thread, ms]) => `${thread} ${ms.toFixed(0)}`);
    return `longest turns in ms: ${parts.join(', ')}`;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
