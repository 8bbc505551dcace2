// MD4, which Node's OpenSSL no longer offers. Only for HASHBYTES: it is not secure.

const rounds: readonly {
  readonly add: number;
  readonly shifts: readonly number[];
  readonly order: readonly number[];
  readonly mix: (x: number, y: number, z: number) => number;
}[] = [
  {
    add: 0,
    shifts: [3, 7, 11, 19],
    order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    mix: (x, y, z) => (x & y) | (~x & z),
  },
  {
    add: 0x5a827999,
    shifts: [3, 5, 9, 13],
    order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    mix: (x, y, z) => (x & y) | (x & z) | (y & z),
  },
  {
    add: 0x6ed9eba1,
    shifts: [3, 9, 11, 15],
    order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
    mix: (x, y, z) => x ^ y ^ z,
  },
];

/** In hexadecimal. */
export function md4(bytes: Uint8Array): string {
  const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, (bytes.length << 3) >>> 0, true);
  view.setUint32(padded.length - 4, Math.floor(bytes.length / 2 ** 29), true);
  let state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
  for (let start = 0; start < padded.length; start += 64) {
    const mixed = block(view, start, state);
    state = state.map((word, at) => (word + (mixed[at] as number)) >>> 0);
  }
  const result = Buffer.alloc(16);
  state.forEach((word, at) => {
    result.writeUInt32LE(word, at * 4);
  });
  return result.toString('hex');
}

function block(view: DataView, start: number, state: readonly number[]): number[] {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (const { add, shifts, order, mix } of rounds) {
    order.forEach((word, at) => {
      const sum = (a + mix(b, c, d) + view.getUint32(start + word * 4, true) + add) | 0;
      const shift = shifts[at % 4] as number;
      [a, d, c, b] = [d, c, b, (sum << shift) | (sum >>> (32 - shift))];
    });
  }
  return [a, b, c, d];
}
