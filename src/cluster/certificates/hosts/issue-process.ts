// The process that generates certificates. It loads the certificate library, answers once and exits, so that neither the
// start of the node nor its memory pays for the library: in a thread 13 MB would stay allocated. Request and response are JSON on its
// standard input and output, where no other user of the machine can see the keys.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { text } from 'node:stream/consumers';
import * as x509 from '@peculiar/x509';
import type { Issued, IssueRequest, KeyedCertificate } from '../issue.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const rsaAlgorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
};
const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
const validity = {
  notBefore: new Date(Date.UTC(2013, 0, 1)),
  notAfter: new Date(Date.UTC(2049, 11, 31, 23, 59, 59)),
};
/** Extended key usages that every certificate needs: server, and client between nodes. */
const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';

x509.cryptoProvider.set(webcrypto);
process.stdout.write(JSON.stringify(await issue(JSON.parse(await text(process.stdin)) as IssueRequest)));

async function issue(request: IssueRequest): Promise<Issued> {
  const authority = request.authority ?? (await newAuthority(request));
  const { names, serials, withRsa } = request;
  const node = await newNode(authority, { names, serial: serials[1], keyAlgorithm: algorithm });
  const rsa = withRsa && newNode(authority, { names, serial: serials[2], keyAlgorithm: rsaAlgorithm });
  return { authority, node, rsa: (await rsa) || null };
}

async function newAuthority({ suffix, serials }: IssueRequest): Promise<KeyedCertificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serials[0],
    name: `CN=Divan ${suffix}`,
    ...validity,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
}

interface NodeCertificate {
  names: IssueRequest['names'];
  serial: string;
  keyAlgorithm: typeof algorithm | typeof rsaAlgorithm;
}

async function newNode(
  authority: KeyedCertificate,
  { names, serial, keyAlgorithm }: NodeCertificate,
): Promise<KeyedCertificate> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
  // Some cipher suites of TLS 1.2 encrypt to the server's RSA key.
  const usages = keyAlgorithm === rsaAlgorithm ? digitalSignature | keyEncipherment : digitalSignature;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: 'CN=Divan node',
    issuer: issuer.subject,
    ...validity,
    signingAlgorithm: algorithm,
    signingKey: await importKey(authority.key),
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(usages, true),
      new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
      new x509.SubjectAlternativeNameExtension(names.map(({ kind, name }) => ({ type: kind, value: name }))),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  const chain = `${certificate.toString('pem')}\n${authority.certificate}`;
  return { certificate: chain, key: await exportKey(keys.privateKey) };
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = x509.PemConverter.decodeFirst(pem);
  return webcrypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']);
}
