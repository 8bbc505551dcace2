// Agrees on a key with another node, to send it the cluster's secrets over a connection that may be plain: X25519 with keys for one join,
// bound to the credentials of the call.
import { createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { SecretBox, secretKeyBytes } from '#auth/secret-box.ts';
import type { Random } from '#ports/random.ts';

const sealPurpose = 'join';

export class SealedExchange {
  readonly #own: KeyObject;
  readonly #random: Random;
  /** This node's public key for the exchange in base64, for the other node. */
  readonly offer: string;

  constructor(random: Random) {
    const { privateKey, publicKey } = generateKeyPairSync('x25519');
    this.#own = privateKey;
    this.#random = random;
    this.offer = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  }

  seal(otherOffer: string, credentials: string, value: unknown): string {
    return this.#box(otherOffer, credentials).seal(sealPurpose, JSON.stringify(value));
  }

  /** @throws UnsealError, or Error for an offer that is no key. */
  open<T>(otherOffer: string, credentials: string, sealed: string): T {
    return JSON.parse(this.#box(otherOffer, credentials).open(sealPurpose, sealed)) as T;
  }

  #box(otherOffer: string, credentials: string): SecretBox {
    const publicKey = createPublicKey({
      key: Buffer.from(otherOffer, 'base64'),
      format: 'der',
      type: 'spki',
    });
    const shared = diffieHellman({ privateKey: this.#own, publicKey });
    // Equal on both sides.
    const offers = [this.offer, otherOffer].sort().join(' ');
    const key = hkdfSync('sha256', shared, credentials, `join ${offers}`, secretKeyBytes);
    return new SecretBox(Buffer.from(key), this.#random);
  }
}
