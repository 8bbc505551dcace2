// The keys of an encrypted repository. The repository has a random key, which is stored encrypted under a key that scrypt derives from the
// passphrase. HKDF derives one key for each data file, and one for the manifests, from the random key. Blocks are encrypted with AES-256-GCM
// under a random nonce. Block numbers are no nonces: they would repeat when an interrupted backup is completed.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  scryptSync,
  timingSafeEqual,
} from 'node:crypto';
import { freeBuffer } from '#base/free-buffer.ts';
import type { Random } from '#ports/random.ts';
import { BackupError } from '../format/backup-error.ts';
import { type BlockCipher, sealBytes } from '../format/block.ts';
import { jsonField, type Shape, ShapeError } from '../format/shape.ts';

/** The field `encryption` of `repository.json`; bytes as hexadecimal digits. */
interface RepositoryEncryption {
  readonly cipher: string;
  readonly kdf: string;
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
  readonly salt: string;
  /** Nonce, encrypted key and tag. */
  readonly wrappedKey: string;
}

const cipherName = 'AES-256-GCM';
const kdfName = 'scrypt';
export type WrappingCost = Pick<RepositoryEncryption, 'cost' | 'blockSize' | 'parallelization'>;
/** 32 MiB and about 0.3 s of processor time. */
const defaultCost: WrappingCost = { cost: 2 ** 15, blockSize: 8, parallelization: 3 };
/** The largest scrypt parameters that are accepted: a hostile repository could otherwise demand any memory and time. */
const accepted = { cost: 2 ** 20, blockSize: 16, parallelization: 16, bytes: 256 << 20 };
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const passphraseBytesMax = 1_000;

const hex = (bytes: number): Shape => jsonField.text(new RegExp(`^[0-9a-f]{${2 * bytes}}$`));
const encryptionShape: Shape = jsonField.object({
  cipher: jsonField.text(new RegExp(`^${cipherName}$`)),
  kdf: jsonField.text(new RegExp(`^${kdfName}$`)),
  cost: jsonField.count,
  blockSize: jsonField.count,
  parallelization: jsonField.count,
  salt: hex(16),
  wrappedKey: hex(nonceBytes + keyBytes + tagBytes),
});

export class RepositoryKeys {
  private readonly key: Buffer;
  private readonly manifestKey: Buffer;
  private readonly random: Random;

  private constructor(key: Buffer, random: Random) {
    this.key = key;
    this.random = random;
    this.manifestKey = derived(key, Buffer.alloc(0), 'divan-backup manifest');
  }

  /** The keys of a new repository. Tests that open it often pass a lower `cost`. */
  static create(
    id: string,
    passphrase: string,
    random: Random,
    cost = defaultCost,
  ): { keys: RepositoryKeys; encryption: RepositoryEncryption } {
    checkPassphrase(passphrase);
    const parameters = { ...cost, salt: random.bytes(16).toString('hex') };
    const key = random.bytes(keyBytes);
    const nonce = random.bytes(nonceBytes);
    const wrappedKey = seal(wrappingKey(passphrase, parameters), nonce, Buffer.from(id, 'hex'), key);
    const encryption = { cipher: cipherName, kdf: kdfName, ...parameters };
    return {
      keys: new RepositoryKeys(key, random),
      encryption: { ...encryption, wrappedKey: wrappedKey.toString('hex') },
    };
  }

  /** @throws BackupError for parameters that are not allowed, and a wrong passphrase */
  static open(
    file: string,
    { id, encryption }: { id: string; encryption: unknown },
    passphrase: string,
    random: Random,
  ): RepositoryKeys {
    const parameters = checkedEncryption(file, encryption);
    checkPassphrase(passphrase);
    const key = unsealed(
      wrappingKey(passphrase, parameters),
      Buffer.from(id, 'hex'),
      Buffer.from(parameters.wrappedKey, 'hex'),
    );
    if (key === null)
      throw new BackupError(`the passphrase is not that of ${file}, or this file was changed`);
    return new RepositoryKeys(key, random);
  }

  /** A MAC in hexadecimal digits: only who has the passphrase can compute it. */
  manifestMac(manifest: string | Buffer): string {
    return createHmac('sha256', this.manifestKey).update(manifest).digest('hex');
  }

  /** The cipher of one data file. */
  blockCipher(backup: Buffer, bucket: number): BlockCipher {
    const key = derived(this.key, backup, `divan-backup data ${bucket}`);
    return {
      seal: (associatedData, plain) => seal(key, this.random.bytes(nonceBytes), associatedData, plain),
      open: (associatedData, sealed) => unsealed(key, associatedData, sealed),
    };
  }
}

/** Compares two hashes or MACs in a time that does not depend on where they differ. */
export function isSameDigest(stated: string, computed: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(stated), digest(computed));
}

function checkPassphrase(passphrase: string): void {
  if (passphrase === '') throw new BackupError('the passphrase is empty');
  if (Buffer.byteLength(passphrase) > passphraseBytesMax)
    throw new BackupError(`the passphrase has more than ${passphraseBytesMax} bytes`);
}

function checkedEncryption(file: string, encryption: unknown): RepositoryEncryption {
  try {
    encryptionShape(encryption, 'encryption');
  } catch (error) {
    if (error instanceof ShapeError) throw new BackupError(`${file}: ${error.message}`);
    throw error;
  }
  const read = encryption as RepositoryEncryption;
  const { cost, blockSize, parallelization } = read;
  const isAllowed =
    Number.isInteger(Math.log2(cost)) &&
    cost >= 2 &&
    cost <= accepted.cost &&
    blockSize >= 1 &&
    blockSize <= accepted.blockSize &&
    parallelization >= 1 &&
    parallelization <= accepted.parallelization &&
    128 * cost * blockSize <= accepted.bytes;
  if (!isAllowed) throw new BackupError(`${file}: encryption: its scrypt parameters are not allowed`);
  return read;
}

function wrappingKey(
  passphrase: string,
  { cost, blockSize, parallelization, salt }: Omit<RepositoryEncryption, 'cipher' | 'kdf' | 'wrappedKey'>,
): Buffer {
  const maxmem = 2 * accepted.bytes;
  const options = { N: cost, r: blockSize, p: parallelization, maxmem };
  return scryptSync(passphrase.normalize('NFC'), Buffer.from(salt, 'hex'), keyBytes, options);
}

const derived = (key: Buffer, salt: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, purpose, keyBytes));

/** Nonce, ciphertext, tag. */
function seal(key: Buffer, nonce: Buffer, associatedData: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(associatedData);
  const encrypted = cipher.update(plain);
  const sealed = Buffer.concat([nonce, encrypted, cipher.final(), cipher.getAuthTag()]);
  freeBuffer(encrypted);
  return sealed;
}

/** Null if the bytes were changed, or were sealed with another key or other associated data. */
function unsealed(key: Buffer, associatedData: Buffer, sealed: Buffer): Buffer | null {
  if (sealed.length < sealBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(associatedData);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    const plain = decipher.update(sealed.subarray(nonceBytes, sealed.length - tagBytes));
    // The last call gives no bytes in this mode: it checks the tag.
    decipher.final();
    return plain;
  } catch {
    return null;
  }
}
