// The authority of a test's cluster.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { PeerTls } from '#kv/admin.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;
const validity = { notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + hourMs) };

/** Returns a function that makes a key and a certificate of this authority for a node, whose id the certificate contains. */
export async function aNodeAuthority() {
  const newKeys = () =>
    webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>;
  const authorityKeys = await newKeys();
  const root = await X509CertificateGenerator.createSelfSigned(
    {
      ...validity,
      serialNumber: '01',
      name: 'CN=cluster',
      extensions: [new BasicConstraintsExtension(true)],
      signingAlgorithm: algorithm,
      keys: authorityKeys,
    },
    webcrypto,
  );
  return async (node: string): Promise<PeerTls> => {
    const nodeKeys = await newKeys();
    const certificate = await X509CertificateGenerator.create(
      {
        ...validity,
        serialNumber: '02',
        subject: 'CN=node',
        issuer: root.subject,
        signingAlgorithm: algorithm,
        publicKey: nodeKeys.publicKey,
        signingKey: authorityKeys.privateKey,
        extensions: [new SubjectAlternativeNameExtension([{ type: 'url', value: `urn:divan:node:${node}` }])],
      },
      webcrypto,
    );
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', nodeKeys.privateKey)).toString(
      'base64',
    );
    const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
    return { certificate: certificate.toString('pem'), key, authority: root.toString('pem') };
  };
}
