// A self-signed certificate for tests.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const hourMs = 3_600_000;
let serial = 1;

/** `uris`: alternative names. */
export async function makeCertificate(
  uris: readonly string[] = [],
): Promise<{ certificate: string; key: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: (serial++).toString(16).padStart(2, '0'),
      name: 'CN=localhost',
      notBefore: new Date(Date.now() - hourMs),
      notAfter: new Date(Date.now() + hourMs),
      signingAlgorithm: algorithm,
      keys: keys as webcrypto.CryptoKeyPair,
      ...(uris.length > 0 && {
        extensions: [
          new SubjectAlternativeNameExtension(uris.map((value) => ({ type: 'url' as const, value }))),
        ],
      }),
    },
    webcrypto,
  );
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  return { certificate: certificate.toString('pem'), key };
}
