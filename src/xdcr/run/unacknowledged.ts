// Counts the versions that wait for an acknowledgement of the target, and their bytes. At the bound the reading of the source is paused, and
// resumed when half of the bound is free.

const bytesMax = 32 << 20;

export class Unacknowledged {
  versionsMax: number;
  versions = 0;
  isPaused = false;
  private bytes = 0;
  private readonly setReading: (isPaused: boolean) => void;

  constructor(versionsMax: number, setReading: (isPaused: boolean) => void) {
    this.versionsMax = versionsMax;
    this.setReading = setReading;
  }

  add(bytes: number): void {
    this.versions++;
    this.bytes += bytes;
    const isFull = this.versions > this.versionsMax || this.bytes > bytesMax;
    if (isFull && !this.isPaused) this.setPaused(true);
  }

  remove(bytes: number): void {
    this.versions--;
    this.bytes -= bytes;
    const isHalfFree = this.versions < this.versionsMax / 2 && this.bytes < bytesMax / 2;
    if (isHalfFree && this.isPaused) this.setPaused(false);
  }

  private setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.setReading(isPaused);
  }
}
