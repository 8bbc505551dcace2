// Passwords as stored: a slow hash for REST, and SCRAM verifiers (RFC 5802) for the data service. Neither reveals the
// password.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Random } from '#ports/random.ts';
import type { Kdf, KdfHash, ScryptCost } from './kdf.ts';
import type { ScramVerifier } from './privileges.ts';

export interface StoredPassword {
  readonly scrypt: ScryptCost & { readonly salt: string; readonly hash: string };
  readonly scram: Readonly<Record<KdfHash, ScramVerifier>>;
}

/** Each guess costs 16 MiB and about 50 ms. */
const scryptCost: ScryptCost = { n: 1 << 14, r: 8, p: 1 };
/** Clients compute these at every connection. */
const scramIterations = 15_000;
const saltBytes = 16;

export async function storePassword(password: string, kdf: Kdf, random: Random): Promise<StoredPassword> {
  const salt = random.bytes(saltBytes);
  const [hash, scram] = await Promise.all([
    kdf.scrypt(password, salt, scryptCost),
    scramVerifiers(password, scramIterations, kdf, random),
  ]);
  return {
    scrypt: { ...scryptCost, salt: salt.toString('base64'), hash: hash.toString('base64') },
    scram,
  };
}

/** The SCRAM verifiers of a password. If it is a random secret, few iterations suffice. */
export async function scramVerifiers(
  password: string,
  iterations: number,
  kdf: Kdf,
  random: Random,
): Promise<StoredPassword['scram']> {
  const [sha1, sha256, sha512] = await Promise.all([
    scramVerifier(password, { hash: 'sha1', iterations }, kdf, random),
    scramVerifier(password, { hash: 'sha256', iterations }, kdf, random),
    scramVerifier(password, { hash: 'sha512', iterations }, kdf, random),
  ]);
  return { sha1, sha256, sha512 };
}

async function scramVerifier(
  password: string,
  { hash, iterations }: { hash: KdfHash; iterations: number },
  kdf: Kdf,
  random: Random,
): Promise<ScramVerifier> {
  const salt = random.bytes(saltBytes);
  const salted = await kdf.pbkdf2(password, salt, { iterations, hash });
  const clientKey = createHmac(hash, salted).update('Client Key').digest();
  return {
    salt: salt.toString('base64'),
    iterations,
    storedKey: createHash(hash).update(clientKey).digest('base64'),
    serverKey: createHmac(hash, salted).update('Server Key').digest('base64'),
  };
}

export async function passwordMatches(stored: StoredPassword, password: string, kdf: Kdf): Promise<boolean> {
  const { salt, hash, ...cost } = stored.scrypt;
  const derived = await kdf.scrypt(password, Buffer.from(salt, 'base64'), cost);
  const wanted = Buffer.from(hash, 'base64');
  return derived.length === wanted.length && timingSafeEqual(derived, wanted);
}

/** Takes as long as a verification. For unknown user names: the time of the answer must not reveal which names exist. */
export async function pretendToCompare(password: string, kdf: Kdf): Promise<void> {
  await kdf.scrypt(password, Buffer.alloc(saltBytes), scryptCost);
}
