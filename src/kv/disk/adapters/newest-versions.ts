// Finds in batches of cuts which versions and states no later cut replaces, so that a transaction of many commits writes each row once.
import { type CutItem, CutReader } from '#kv/data/cut.ts';

export class NewestVersions {
  /** By vbucket and key. */
  private readonly seqnos = new Map<string, number>();
  /** By vbucket, the position of its last cut. */
  private readonly lastCuts = new Map<number, number>();

  /** Oldest first. */
  constructor(batches: readonly Uint8Array[]) {
    let cut = 0;
    for (const batch of batches) {
      const reader = new CutReader(batch);
      while (reader.nextCut()) {
        const { item, state } = reader;
        this.lastCuts.set(state.vb, cut++);
        while (reader.nextItem()) this.seqnos.set(nameOf(state.vb, item), item.seqno);
      }
    }
  }

  isNewest(vb: number, item: CutItem): boolean {
    return this.seqnos.get(nameOf(vb, item)) === item.seqno;
  }

  isLastCut(vb: number, cut: number): boolean {
    return this.lastCuts.get(vb) === cut;
  }
}

const nameOf = (vb: number, { buffer, keyStart, keyEnd }: CutItem): string =>
  `${vb} ${buffer.toString('latin1', keyStart, keyEnd)}`;
