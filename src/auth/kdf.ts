// Key derivation: slow on purpose, computed in the thread pool. A port, since calls in that pool end in an order that a
// test cannot repeat.

export type KdfHash = 'sha1' | 'sha256' | 'sha512';

export interface Kdf {
  scrypt(password: string, salt: Buffer, cost: ScryptCost): Promise<Buffer>;
  pbkdf2(password: string, salt: Buffer, options: { iterations: number; hash: KdfHash }): Promise<Buffer>;
}

export interface ScryptCost {
  /** N, r and p of RFC 7914. */
  readonly n: number;
  readonly r: number;
  readonly p: number;
}
