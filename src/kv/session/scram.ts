// The server side of SCRAM (RFC 5802, RFC 7677): the challenge for the client's first message, and the verification of its final one.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { isTooLong } from '#auth/identity-rules.ts';
import type { ScramVerifier, UserSpec } from '../admin.ts';

export type ScramHash = 'sha1' | 'sha256' | 'sha512';
/** The hash of each SCRAM mechanism, by its name. */
export const scramHashes: ReadonlyMap<string, ScramHash> = new Map([
  ['SCRAM-SHA512', 'sha512'],
  ['SCRAM-SHA256', 'sha256'],
  ['SCRAM-SHA1', 'sha1'],
]);
export const mechanismList = 'SCRAM-SHA512 SCRAM-SHA256 SCRAM-SHA1 PLAIN';

const nonceBytesMax = 256;

/** The parts of a client's first message. */
export interface ClientFirst {
  gs2Header: string;
  bare: string;
  user: string;
  /** The authorization identity if it differs from the user, else null. */
  otherId: string | null;
  nonce: string;
}

const firstMessage = /^([ny],(?:a=([^,]*))?,)(n=([^,]*),r=([^,]+)(?:,.*)?)$/s;

/** Parses a client's first message; null if it is malformed. */
export function readClientFirst(text: string): ClientFirst | null {
  const match = firstMessage.exec(text);
  if (!match) return null;
  const [, gs2Header = '', sentId = '', bare = '', name = '', nonce = ''] = match;
  const [user, id] = [unescapeName(name), unescapeName(sentId)];
  if (user === null || id === null || nonce.length > nonceBytesMax || isTooLong(user)) return null;
  return { gs2Header, bare, user, otherId: otherIdOf(id, user), nonce };
}

/** The authorization identity if it differs from the user, else null. An empty one is that of the user. */
export const otherIdOf = (id: string, user: string): string | null => (id === '' || id === user ? null : id);

/** In names, `,` is encoded as `=2C` and `=` as `=3D`. */
function unescapeName(name: string): string | null {
  if (/=(?!2C|3D)/.test(name)) return null;
  return name.replaceAll('=2C', ',').replaceAll('=3D', '=');
}

export class ScramExchange {
  readonly mechanism: string;
  readonly user: string;
  /** Id of the credentials that the proof is verified against; null for an unknown user, whose proof always fails. */
  readonly credentialId: string | null;
  /** The server's first message. */
  readonly challenge: string;
  private readonly hash: ScramHash;
  private readonly verifier: ScramVerifier;
  private readonly first: ClientFirst;
  private readonly nonce: string;

  /** For an unknown user `verifier` is fake and `credentialId` null. */
  constructor(
    mechanism: string,
    first: ClientFirst,
    serverNonce: string,
    verifier: ScramVerifier,
    credentialId: string | null,
  ) {
    this.mechanism = mechanism;
    this.hash = scramHashes.get(mechanism) as ScramHash;
    this.user = first.user;
    this.first = first;
    this.nonce = first.nonce + serverNonce;
    this.verifier = verifier;
    this.credentialId = credentialId;
    this.challenge = `r=${this.nonce},s=${verifier.salt},i=${verifier.iterations}`;
  }

  /** Verifies the client's final message; returns the server's final message, or null if the proof is wrong. */
  finish(text: string): string | null {
    const at = text.lastIndexOf(',p=');
    if (at < 0) return null;
    const withoutProof = text.slice(0, at);
    const proof = Buffer.from(text.slice(at + 3), 'base64');
    const channel = Buffer.from(this.first.gs2Header).toString('base64');
    const isSameNonce = withoutProof === `c=${channel},r=${this.nonce}`;
    const authMessage = `${this.first.bare},${this.challenge},${withoutProof}`;
    const isProven = this.check(authMessage, proof);
    if (!isSameNonce || !isProven || this.credentialId === null) return null;
    const serverKey = Buffer.from(this.verifier.serverKey, 'base64');
    return `v=${createHmac(this.hash, serverKey).update(authMessage).digest('base64')}`;
  }

  private check(authMessage: string, proof: Buffer): boolean {
    const storedKey = Buffer.from(this.verifier.storedKey, 'base64');
    const clientSignature = createHmac(this.hash, storedKey).update(authMessage).digest();
    if (proof.length !== clientSignature.length) return false;
    const clientKey = clientSignature.map((byte, index) => byte ^ (proof[index] as number));
    const candidate = createHash(this.hash).update(clientKey).digest();
    return candidate.length === storedKey.length && timingSafeEqual(candidate, storedKey);
  }
}

/** A verifier for an unknown user name. It is deterministic, so that repeated logins do not reveal that the user does not exist. */
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
