// Parses and validates certificates and keys as PEM text (RFC 7468).
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

/** Problems of a certificate, in texts that clients know. */
export const certificateProblem = {
  empty: 'Certificate should not be empty',
  malformed: 'Malformed certificate',
  notValidNow: 'Certificate is not valid at this time',
  encrypted: 'Encrypted certificates are not supported.',
  wrongType: (type: string) => `Invalid certificate type: ${type}`,
} as const;

export type ParsedText<T> = { readonly value: T } | { readonly problem: string };

interface Block {
  readonly label: string;
  readonly pem: string;
  readonly isEncrypted: boolean;
}

/** Finds the blocks in one pass: a pattern for whole blocks would search again from each begin line, for seconds with hostile texts. */
function blocksOf(text: string): Block[] {
  const begins = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]{1,64})-----/g)];
  const ends = endsOf(text);
  const blocks: Block[] = [];
  let from = 0;
  for (const { 0: line, 1: label = '', index } of begins) {
    if (index < from) continue;
    const found = ends.get(label);
    while (found && (found.positions[found.next] ?? Number.POSITIVE_INFINITY) < index + line.length)
      found.next++;
    const end = found?.positions[found.next];
    if (end === undefined) continue;
    from = end;
    const pem = `${text.slice(index, end)}\n`;
    const isEncrypted = /^Proc-Type:.*ENCRYPTED/m.test(pem) || label.startsWith('ENCRYPTED ');
    blocks.push({ label, pem, isEncrypted });
  }
  return blocks;
}

/** The positions after the end lines with one label, and the index of the first of them that may end the next block. */
interface Ends {
  readonly positions: number[];
  next: number;
}

function endsOf(text: string): ReadonlyMap<string, Ends> {
  const byLabel = new Map<string, Ends>();
  for (const { 0: line, 1: label = '', index } of text.matchAll(/-----END ([A-Z0-9 ]{1,64})-----/g)) {
    const ends = byLabel.get(label) ?? { positions: [], next: 0 };
    byLabel.set(label, ends);
    ends.positions.push(index + line.length);
  }
  return byLabel;
}

/** The ASN.1 types that PEM labels stand for. */
const typeNames: Record<string, string> = {
  'PRIVATE KEY': 'PrivateKeyInfo',
  'ENCRYPTED PRIVATE KEY': 'EncryptedPrivateKeyInfo',
  'RSA PRIVATE KEY': 'RSAPrivateKey',
  'EC PRIVATE KEY': 'ECPrivateKey',
  'DSA PRIVATE KEY': 'DSAPrivateKey',
  'PUBLIC KEY': 'SubjectPublicKeyInfo',
  'CERTIFICATE REQUEST': 'CertificationRequest',
  'X509 CRL': 'CertificateList',
};
const typeName = (label: string): string => typeNames[label] ?? label;

/** All certificates of a text, at least one. */
export function readCertificates(text: string): ParsedText<X509Certificate[]> {
  if (text.trim() === '') return { problem: certificateProblem.empty };
  const found = blocksOf(text);
  if (found.length === 0) return { problem: certificateProblem.malformed };
  const certificates: X509Certificate[] = [];
  for (const block of found) {
    const read = readBlock(block);
    if ('problem' in read) return read;
    certificates.push(read.value);
  }
  return { value: certificates };
}

function readBlock({ label, pem, isEncrypted }: Block): ParsedText<X509Certificate> {
  if (label !== 'CERTIFICATE') return { problem: certificateProblem.wrongType(typeName(label)) };
  if (isEncrypted) return { problem: certificateProblem.encrypted };
  try {
    return { value: new X509Certificate(pem) };
  } catch {
    return { problem: certificateProblem.malformed };
  }
}

/** Certificates of authorities, which must be valid now. */
export function readAuthorities(text: string, nowMs: number): ParsedText<X509Certificate[]> {
  const read = readCertificates(text);
  if ('problem' in read) return read;
  const isInvalidNow = read.value.some((certificate) => !isValidAt(certificate, nowMs));
  return isInvalidNow ? { problem: certificateProblem.notValidNow } : read;
}

export const isValidAt = (certificate: X509Certificate, nowMs: number): boolean =>
  notBeforeMs(certificate) <= nowMs && nowMs <= notAfterMs(certificate);

export const notBeforeMs = (certificate: X509Certificate): number => Date.parse(certificate.validFrom);
export const notAfterMs = (certificate: X509Certificate): number => Date.parse(certificate.validTo);

/** `C=DE, O=Example, CN=host`. */
export const subjectOf = (certificate: X509Certificate): string =>
  (certificate.subject ?? '').split('\n').join(', ');

export const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

export const pemOf = (certificates: readonly X509Certificate[]): string =>
  certificates.map((certificate) => certificate.toString()).join('');

export const keyProblem = {
  malformed: 'Malformed or unsupported private key format',
  tooMany: 'Provided private key contains incorrect number of entries',
  undecryptable: 'Failed to decrypt provided private key. Check password',
} as const;

/** The private key of a text; `passphrase` for an encrypted one. */
export function readKey(text: string, passphrase: string | null): ParsedText<KeyObject> {
  // Files made by OpenSSL may contain the curve beside the key.
  const found = blocksOf(text).filter(({ label }) => label !== 'EC PARAMETERS');
  const [block] = found;
  if (!block) return { problem: keyProblem.malformed };
  if (found.length > 1) return { problem: keyProblem.tooMany };
  if (!block.label.endsWith('PRIVATE KEY')) {
    return { problem: `Invalid private key type: ${typeName(block.label)}.` };
  }
  if (block.isEncrypted && passphrase === null) return { problem: keyProblem.undecryptable };
  try {
    const key = createPrivateKey({ key: block.pem, ...(passphrase !== null && { passphrase }) });
    return { value: key };
  } catch {
    return { problem: block.isEncrypted ? keyProblem.undecryptable : keyProblem.malformed };
  }
}

export const keyText = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
