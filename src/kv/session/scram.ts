// The server's side of SCRAM (RFC 5802, RFC 7677): a challenge for the client's first message, a check of its last.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ScramVerifier, UserSpec } from '../admin.ts';

export type ScramHash = 'sha1' | 'sha256' | 'sha512';
export const mechanisms: Record<string, ScramHash> = {
  'SCRAM-SHA512': 'sha512',
  'SCRAM-SHA256': 'sha256',
  'SCRAM-SHA1': 'sha1',
};
export const mechanismList = 'SCRAM-SHA512 SCRAM-SHA256 SCRAM-SHA1 PLAIN';

export const userNameBytesMax = 128;
const nonceBytesMax = 256;

/** A client's first message, taken apart; null when it is not one. */
export interface ClientFirst {
  gs2Header: string;
  bare: string;
  user: string;
  nonce: string;
}

const firstMessage = /^([ny],(?:a=[^,]*)?,)(n=([^,]*),r=([^,]+)(?:,.*)?)$/s;

export function readClientFirst(text: string): ClientFirst | null {
  const match = firstMessage.exec(text);
  if (!match) return null;
  const [, gs2Header = '', bare = '', name = '', nonce = ''] = match;
  const user = unescapeName(name);
  if (user === null || nonce.length > nonceBytesMax || Buffer.byteLength(user) > userNameBytesMax)
    return null;
  return { gs2Header, bare, user, nonce };
}

/** Names write `,` as `=2C` and `=` as `=3D`. */
function unescapeName(name: string): string | null {
  if (/=(?!2C|3D)/.test(name)) return null;
  return name.replaceAll('=2C', ',').replaceAll('=3D', '=');
}

export class ScramExchange {
  readonly mechanism: string;
  readonly user: string;
  /** Credentials that the proof is checked against; null when there are none, and no proof is right. */
  readonly credentialId: string | null;
  /** What the client is sent. */
  readonly challenge: string;
  private readonly hash: ScramHash;
  private readonly verifier: ScramVerifier;
  private readonly first: ClientFirst;
  private readonly nonce: string;

  /** `verifier` of a user who does not exist is made up, and `credentialId` null. */
  constructor(
    mechanism: string,
    first: ClientFirst,
    serverNonce: string,
    verifier: ScramVerifier,
    credentialId: string | null,
  ) {
    this.mechanism = mechanism;
    this.hash = mechanisms[mechanism] as ScramHash;
    this.user = first.user;
    this.first = first;
    this.nonce = first.nonce + serverNonce;
    this.verifier = verifier;
    this.credentialId = credentialId;
    this.challenge = `r=${this.nonce},s=${verifier.salt},i=${verifier.iterations}`;
  }

  /** The server's last message when the proof is right, else null. */
  finish(text: string): string | null {
    const at = text.lastIndexOf(',p=');
    if (at < 0) return null;
    const withoutProof = text.slice(0, at);
    const proof = Buffer.from(text.slice(at + 3), 'base64');
    const channel = Buffer.from(this.first.gs2Header).toString('base64');
    const isSameNonce = withoutProof === `c=${channel},r=${this.nonce}`;
    const message = `${this.first.bare},${this.challenge},${withoutProof}`;
    const isProven = this.check(message, proof);
    if (!isSameNonce || !isProven || this.credentialId === null) return null;
    const serverKey = Buffer.from(this.verifier.serverKey, 'base64');
    return `v=${createHmac(this.hash, serverKey).update(message).digest('base64')}`;
  }

  private check(message: string, proof: Buffer): boolean {
    const storedKey = Buffer.from(this.verifier.storedKey, 'base64');
    const signature = createHmac(this.hash, storedKey).update(message).digest();
    if (proof.length !== signature.length) return false;
    const clientKey = signature.map((byte, index) => byte ^ (proof[index] as number));
    const candidate = createHash(this.hash).update(clientKey).digest();
    return candidate.length === storedKey.length && timingSafeEqual(candidate, storedKey);
  }
}

/** A verifier for a name that nobody has: the same for the same name under the same secret. */
export function fakeVerifier(
  secret: Buffer,
  user: string,
  hash: ScramHash,
  iterations: number,
): ScramVerifier {
  const derive = (purpose: string) => createHmac(hash, secret).update(`${purpose}\0${user}`).digest();
  return {
    salt: derive('salt').subarray(0, 16).toString('base64'),
    iterations,
    storedKey: derive('stored').toString('base64'),
    serverKey: derive('server').toString('base64'),
  };
}

export const verifierOf = (user: UserSpec | undefined, hash: ScramHash): ScramVerifier | undefined =>
  user?.scram?.[hash];
