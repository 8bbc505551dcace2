// Generates authorities and the certificates of nodes (RFC 5280). It uses no library, since that would take longer to load than all other
// parts of a node's start.
import {
  createHash,
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto';
import { promisify } from 'node:util';
import { der } from './der.ts';

export interface KeyedCertificate {
  /** PEM; for a node, followed by its authority's. */
  certificate: string;
  /** PKCS 8, PEM. */
  key: string;
}

export interface AlternativeName {
  kind: 'dns' | 'ip' | 'url';
  name: string;
}

export interface IssueRequest {
  /** The authority that signs, one of those that were generated here; null: generate one. */
  authority: KeyedCertificate | null;
  /** Eight hex digits that distinguish a new authority from others. */
  suffix: string;
  /** Serial numbers, as hex, of the authority, of the node's certificate and of its certificate with an RSA key. */
  serials: [string, string, string];
  names: AlternativeName[];
  /** Whether the node also gets a certificate with an RSA key. */
  withRsa: boolean;
}

export interface IssuedCertificates {
  authority: KeyedCertificate;
  node: KeyedCertificate;
  /** Null if no certificate with an RSA key was requested. */
  rsa: KeyedCertificate | null;
}

export type IssueCertificates = (request: IssueRequest) => Promise<IssuedCertificates>;

interface Keys {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

// In a thread of the pool: an RSA key takes a tenth of a second.
const newKeys = promisify(generateKeyPair);
const newEcKeys = (): Promise<Keys> => newKeys('ec', { namedCurve: 'P-256' });
const newRsaKeys = (): Promise<Keys> => newKeys('rsa', { modulusLength: 2048 });

export const certificateIds = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;
const usages = { digitalSignature: 0, keyEncipherment: 2, keyCertSign: 5, crlSign: 6 } as const;
/** Tags of the kinds of alternative names (RFC 5280, GeneralName). */
const nameTags = { dns: 2, url: 6, ip: 7 } as const;
const version3 = der.tagged(0, der.integer('2'));
const algorithm = der.sequence(der.identifier(certificateIds.ecdsaWithSha256));
const validity = der.sequence(
  der.utcTime(Date.UTC(2013, 0, 1)),
  der.utcTime(Date.UTC(2049, 11, 31, 23, 59, 59)),
);

export async function issue(request: IssueRequest): Promise<IssuedCertificates> {
  const { serials, withRsa } = request;
  const authority = request.authority ?? (await newAuthority(request));
  const [node, rsa] = await Promise.all([
    newEcKeys().then((keys) => nodeCertificate(authority, keys, serials[1], request)),
    withRsa ? newRsaKeys().then((keys) => nodeCertificate(authority, keys, serials[2], request)) : null,
  ]);
  return { authority, node, rsa };
}

async function newAuthority({ suffix, serials }: IssueRequest): Promise<KeyedCertificate> {
  const keys = await newEcKeys();
  const name = commonName(`Divan ${suffix}`);
  const certificate = signed(keys.privateKey, {
    serial: serials[0],
    issuer: name,
    subject: name,
    publicKey: spkiOf(keys.publicKey),
    extensions: [
      critical(certificateIds.basicConstraints, der.sequence(der.yes, der.integer('1'))),
      critical(certificateIds.keyUsage, der.namedBits(usages.keyCertSign, usages.crlSign)),
      extension(certificateIds.subjectKeyIdentifier, der.octets(keyIdentifier(spkiOf(keys.publicKey)))),
    ],
  });
  return { certificate, key: keyText(keys) };
}

function nodeCertificate(
  authority: KeyedCertificate,
  keys: Keys,
  serial: string,
  { names }: IssueRequest,
): KeyedCertificate {
  const issuer = issuerOf(authority.certificate);
  // Some cipher suites of TLS 1.2 encrypt to the server's RSA key.
  const isRsa = keys.publicKey.asymmetricKeyType === 'rsa';
  const uses = isRsa ? [usages.digitalSignature, usages.keyEncipherment] : [usages.digitalSignature];
  // Every certificate of a node is that of a server, and of a client between nodes.
  const extendedUses = [certificateIds.serverAuth, certificateIds.clientAuth].map(der.identifier);
  const certificate = signed(createPrivateKey(authority.key), {
    serial,
    issuer: issuer.name,
    subject: commonName('Divan node'),
    publicKey: spkiOf(keys.publicKey),
    extensions: [
      critical(certificateIds.basicConstraints, der.sequence()),
      critical(certificateIds.keyUsage, der.namedBits(...uses)),
      extension(certificateIds.extendedKeyUsage, der.sequence(...extendedUses)),
      extension(certificateIds.subjectAlternativeName, der.sequence(...names.map(alternativeName))),
      extension(certificateIds.subjectKeyIdentifier, der.octets(keyIdentifier(spkiOf(keys.publicKey)))),
      extension(
        certificateIds.authorityKeyIdentifier,
        der.sequence(der.taggedBytes(0, keyIdentifier(issuer.publicKey))),
      ),
    ],
  });
  return { certificate: `${certificate}\n${authority.certificate}`, key: keyText(keys) };
}

interface Certified {
  serial: string;
  issuer: Buffer;
  subject: Buffer;
  publicKey: Buffer;
  extensions: readonly Buffer[];
}

/** The certificate as PEM. */
function signed(key: KeyObject, { serial, issuer, subject, publicKey, extensions }: Certified): string {
  const content = der.sequence(
    version3,
    der.integer(serial),
    algorithm,
    issuer,
    validity,
    subject,
    publicKey,
    der.tagged(3, der.sequence(...extensions)),
  );
  const bytes = der.sequence(content, algorithm, der.bits(sign('sha256', content, key)));
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----'].join('\n');
}

/** The name of an authority exactly as its certificate has it, and its public key. */
function issuerOf(pem: string): { name: Buffer; publicKey: Buffer } {
  const { raw, publicKey } = new X509Certificate(pem);
  const [, , , , , name] = der.partsOf(der.partsOf(raw)[0] as Buffer);
  return { name: name as Buffer, publicKey: spkiOf(publicKey) };
}

const commonName = (text: string): Buffer =>
  der.sequence(der.set(der.sequence(der.identifier(certificateIds.commonName), der.printable(text))));

const extension = (id: string, value: Buffer): Buffer => der.sequence(der.identifier(id), der.octets(value));

const critical = (id: string, value: Buffer): Buffer =>
  der.sequence(der.identifier(id), der.yes, der.octets(value));

const alternativeName = ({ kind, name }: AlternativeName): Buffer =>
  der.taggedBytes(nameTags[kind], kind === 'ip' ? addressBytes(name) : Buffer.from(name, 'ascii'));

/** @throws TypeError for a text that is no address. */
function addressBytes(address: string): Buffer {
  const isVersion6 = address.includes(':');
  const { hostname } = new URL(`http://${isVersion6 ? `[${address}]` : address}`);
  if (!isVersion6) return Buffer.from(hostname.split('.').map(Number));
  // In brackets, groups in hexadecimal, with the longest row of zeros left out.
  const [first = [], last = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((text) => text.split(':').filter((group) => group !== ''));
  const omitted = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...omitted, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** The digest of the key without its algorithm, of RFC 5280, 4.2.1.2. */
const keyIdentifier = (spki: Buffer): Buffer =>
  createHash('sha1')
    .update(der.bytesOfBits(der.partsOf(spki)[1] as Buffer))
    .digest();

const keyText = ({ privateKey }: Keys): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString().trimEnd();
