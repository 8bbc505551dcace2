// A set of vbuckets that every change adds to: flags and a list, since a Set costs several times as much.
import { vbucketCount } from '#client/document-key.ts';

export class VbucketSet {
  private readonly has = new Uint8Array(vbucketCount);
  private readonly members = new Uint16Array(vbucketCount);
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(vb: number): void {
    if (this.has[vb] === 1) return;
    this.has[vb] = 1;
    this.members[this.count++] = vb;
  }

  delete(vb: number): void {
    if (this.has[vb] === 0) return;
    this.has[vb] = 0;
    const last = this.members[--this.count] as number;
    this.members[this.members.indexOf(vb)] = last;
  }

  clear(): void {
    this.has.fill(0);
    this.count = 0;
  }

  /** A view of the members, in no particular order; valid until the next change of the set. */
  values(): Uint16Array {
    return this.members.subarray(0, this.count);
  }
}
