// A layered Bloom filter per vbucket of the hashes of keys that are on disk only: a key that is not in memory is read
// from disk only when the filter may hold it. A full layer stays and one twice as large is added, since the keys to rebuild it
// are no longer in memory.

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
  private total = 0;

  constructor(vbucketCount: number) {
    this.layers = new Array<Layer[] | undefined>(vbucketCount);
  }

  get bytes(): number {
    return this.total;
  }

  add(vb: number, hash: number): void {
    if (this.mayHold(vb, hash)) return;
    const layers = (this.layers[vb] ??= []);
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
    if (!layers) return false;
    const step = stepOf(hash);
    return layers.some(({ words }) => holds(words, hash, step));
  }

  clear(vb: number): void {
    for (const { words } of this.layers[vb] ?? []) this.total -= words.byteLength;
    this.layers[vb] = undefined;
  }

  private newLayer(below: Layer | undefined): Layer {
    const bits = below ? Math.min(below.words.length * 64, largestBits) : firstBits;
    const words = new Uint32Array(new SharedArrayBuffer(bits / 8));
    this.total += words.byteLength;
    return { words, room: Math.floor(bits / bitsPerKey) };
  }
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
