// An event journal in memory.
import type { Journal } from '../../src/cluster/events/journal.ts';

export class MemoryJournal implements Journal {
  readonly lines: string[] = [];

  append(line: string): void {
    this.lines.push(line);
  }

  async *segments(): AsyncGenerator<string[]> {
    yield [...this.lines];
  }

  close(): void {}
}
