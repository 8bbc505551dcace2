// A layered Bloom filter per vbucket of the hashes of keys that are on disk only: a key that is not in memory is read
// from disk only when the filter may hold it. A full layer stays and one twice as large is added, since the keys to rebuild it
// are no longer in memory. A filter cannot forget keys: from time to time another one is made from the rows on disk and takes its place.

const firstBits = 1024;
const largestBits = 2 ** 30;
const bitsPerKey = 14;
const probes = 7;

interface Layer {
  words: Uint32Array;
  /** How many more keys the layer can take. */
  room: number;
}

export class KeyFilter {
  private readonly layers: (Layer[] | undefined)[];
  /** The layers of a vbucket that are made anew beside those in use. */
  private rebuilt: { readonly vb: number; readonly layers: Layer[] } | null = null;
  private total = 0;

  constructor(vbucketCount: number) {
    this.layers = new Array<Layer[] | undefined>(vbucketCount);
  }

  get bytes(): number {
    return this.total;
  }

  add(vb: number, hash: number): void {
    this.addRebuilt(vb, hash);
    if (!this.mayHold(vb, hash)) this.addTo((this.layers[vb] ??= []), hash);
  }

  /** Keys of the vbucket that were added. */
  count(vb: number): number {
    return (this.layers[vb] ?? []).reduce((sum, { words, room }) => sum + roomOf(words) - room, 0);
  }

  /** From now on a new filter of the vbucket gets its keys too, and those of `addRebuilt`. There is one at a time. */
  beginRebuild(vb: number): void {
    this.cancelRebuild();
    this.rebuilt = { vb, layers: [] };
  }

  /** Adds a key to the new filter, if this vbucket gets one. */
  addRebuilt(vb: number, hash: number): void {
    const { rebuilt } = this;
    if (rebuilt?.vb === vb && !holdsIn(rebuilt.layers, hash)) this.addTo(rebuilt.layers, hash);
  }

  /** The new filter takes the place of the old one. */
  endRebuild(): void {
    const { rebuilt } = this;
    if (rebuilt === null) return;
    this.rebuilt = null;
    this.clear(rebuilt.vb);
    this.layers[rebuilt.vb] = rebuilt.layers;
  }

  cancelRebuild(): void {
    for (const { words } of this.rebuilt?.layers ?? []) this.total -= words.byteLength;
    this.rebuilt = null;
  }

  private addTo(layers: Layer[], hash: number): void {
    let top = layers.at(-1);
    if (!top || top.room === 0) layers.push((top = this.newLayer(top)));
    top.room--;
    const { words } = top;
    const step = stepOf(hash);
    for (let i = 0, at = hash; i < probes; i++, at = (at + step) >>> 0) {
      const bit = at & (words.length * 32 - 1);
      (words[bit >>> 5] as number) |= 1 << (bit & 31);
    }
  }

  mayHold(vb: number, hash: number): boolean {
    const layers = this.layers[vb];
    return layers !== undefined && holdsIn(layers, hash);
  }

  clear(vb: number): void {
    if (this.rebuilt?.vb === vb) this.cancelRebuild();
    for (const { words } of this.layers[vb] ?? []) this.total -= words.byteLength;
    this.layers[vb] = undefined;
  }

  private newLayer(below: Layer | undefined): Layer {
    const bits = below ? Math.min(below.words.length * 64, largestBits) : firstBits;
    const words = new Uint32Array(new SharedArrayBuffer(bits / 8));
    this.total += words.byteLength;
    return { words, room: roomOf(words) };
  }
}

const roomOf = (words: Uint32Array): number => Math.floor((words.length * 32) / bitsPerKey);

function holdsIn(layers: readonly Layer[], hash: number): boolean {
  const step = stepOf(hash);
  return layers.some(({ words }) => holds(words, hash, step));
}

function holds(words: Uint32Array, hash: number, step: number): boolean {
  for (let i = 0, at = hash; i < probes; i++, at = (at + step) >>> 0) {
    const bit = at & (words.length * 32 - 1);
    if (((words[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
}

/** A second hash from the first; odd, so that the probes differ. */
function stepOf(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((mixed ^ (mixed >>> 12)) | 1) >>> 0;
}
