// The connections of change streams on one bucket, by the names they gave themselves.
import type { Producer } from './producer.ts';

/** Each may hold some megabytes of pages. */
export const producersMax = 256;

export class Producers {
  private readonly byName = new Map<string, Producer>();

  get isFull(): boolean {
    return this.byName.size >= producersMax;
  }

  all(): Iterable<Producer> {
    return this.byName.values();
  }

  /** A client that comes back before its old connection was found dead takes its name over. */
  add(producer: Producer): void {
    const older = this.byName.get(producer.name);
    older?.replaced();
    this.byName.set(producer.name, producer);
  }

  delete(name: string, producer: Producer): void {
    if (this.byName.get(name) === producer) this.byName.delete(name);
  }

  /** The documents cannot be read any more. */
  sourceGone(): void {
    for (const producer of this.byName.values()) producer.sourceGone();
  }
}
