import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { issuedCertificates } from '../../../test/support/manager.ts';
import { der } from './der.ts';
import { type AlternativeName, certificateIds, type IssueRequest, issue } from './issue.ts';

const names: AlternativeName[] = [
  { kind: 'dns', name: 'localhost' },
  { kind: 'dns', name: `${'long.'.repeat(40)}example` },
  { kind: 'ip', name: '10.1.2.3' },
  { kind: 'ip', name: 'FD00::12:0:7' },
  { kind: 'ip', name: '::1' },
  { kind: 'ip', name: '2001:db8:1:2:3:4:5:6' },
  { kind: 'url', name: 'urn:divan:node:4f' },
];
const request = (given: Partial<IssueRequest> = {}): IssueRequest => ({
  authority: null,
  suffix: '0a1b2c3d',
  serials: ['01', '80ff', '00007f'],
  names,
  withRsa: true,
  ...given,
});

test('the issuer of certificates generates an authority, and certificates that it signs for every name of a node', async () => {
  const { authority, node, rsa } = await issue(request());
  const root = new X509Certificate(authority.certificate);
  assert.equal(root.subject, 'CN=Divan 0a1b2c3d');
  assert.equal(root.ca && root.checkIssued(root) && root.verify(root.publicKey), true);
  assert.deepEqual([root.serialNumber, new Date(root.validTo).getUTCFullYear()], ['01', 2049]);
  for (const [keyed, serial] of [
    [node, '80FF'],
    [rsa, '7F'],
  ] as const) {
    const found = new X509Certificate(keyed?.certificate ?? '');
    assert.equal(found.checkIssued(root) && found.verify(root.publicKey) && !found.ca, true);
    assert.deepEqual([found.subject, found.serialNumber], ['CN=Divan node', serial]);
    assert.equal(found.checkPrivateKey(createPrivateKey(keyed?.key ?? '')), true);
    for (const { kind, name } of names) {
      if (kind === 'dns') assert.equal(found.checkHost(name), name);
      if (kind === 'ip') assert.equal(found.checkIP(name), name);
      if (kind === 'url') assert.match(found.subjectAltName ?? '', new RegExp(`URI:${name}`));
    }
    assert.equal(found.subjectAltName?.split(', ').length, names.length);
    assert.equal(keyed?.certificate.endsWith(`\n${authority.certificate}`), true);
  }
  assert.equal(new X509Certificate(rsa?.certificate ?? '').publicKey.asymmetricKeyType, 'rsa');
});

test('certificates have the form that those of earlier versions have', async () => {
  const { authority, node } = await issue(request({ names: [], withRsa: false }));
  assert.deepEqual(formOf(authority.certificate), formOf(issuedCertificates.authority.certificate));
  assert.deepEqual(formOf(node.certificate), formOf(issuedCertificates.node.certificate));
});

/** Extensions whose values are the same in all certificates of a kind. */
const fixedExtensions = (['keyUsage', 'basicConstraints', 'extendedKeyUsage'] as const).map((name) =>
  der.identifier(certificateIds[name]),
);

/** All but the serial number, names, keys, digests of keys and signature. */
function formOf(pem: string): Record<string, unknown> {
  const [content, algorithm] = der.partsOf(new X509Certificate(pem).raw) as [Buffer, Buffer];
  const [version, , innerAlgorithm, , validity, , key, tagged] = der.partsOf(content) as Buffer[];
  const [extensions] = der.partsOf(tagged as Buffer) as [Buffer];
  return {
    version,
    algorithm,
    innerAlgorithm,
    validity,
    key: der.partsOf(key as Buffer)[0],
    extensions: der.partsOf(extensions).map((extension) => {
      const parts = der.partsOf(extension) as [Buffer, ...Buffer[]];
      return fixedExtensions.some((id) => id.equals(parts[0])) ? parts : parts.slice(0, -1);
    }),
  };
}

test('an authority that an earlier version generated signs certificates', async () => {
  const { authority } = issuedCertificates;
  const { node, authority: kept } = await issue(request({ authority, withRsa: false }));
  assert.deepEqual(kept, authority);
  const root = new X509Certificate(authority.certificate);
  const found = new X509Certificate(node.certificate);
  assert.equal(found.checkIssued(root) && found.verify(root.publicKey), true);
});

test('the issuer of certificates refuses a name that is no address', async () => {
  for (const name of ['10.1.2.300', 'fe80::1%eth0'])
    await assert.rejects(issue(request({ names: [{ kind: 'ip', name }] })), TypeError);
});

test('numbers, identifiers and lengths have their shortest form in DER', () => {
  const hex = (bytes: Buffer): string => bytes.toString('hex');
  assert.equal(hex(der.integer('0')), '020100');
  assert.equal(hex(der.integer('00080')), '02020080');
  assert.equal(hex(der.identifier('1.2.840.113549')), '06062a864886f70d');
  assert.equal(hex(der.namedBits(0, 2)), '030205a0');
  assert.equal(hex(der.octets(Buffer.alloc(127)).subarray(0, 2)), '047f');
  assert.equal(hex(der.octets(Buffer.alloc(128)).subarray(0, 3)), '048180');
  assert.equal(hex(der.octets(Buffer.alloc(300)).subarray(0, 4)), '0482012c');
  for (const bytes of [3, 127, 128, 300]) {
    const parts = [der.octets(Buffer.alloc(bytes, 1)), der.integer('7f')];
    assert.deepEqual(der.partsOf(der.sequence(...parts)), parts);
  }
});
