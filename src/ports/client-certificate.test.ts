import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { OpensslAuthority } from '../../test/support/openssl.ts';
import { certificateUser } from './client-certificate.ts';

const rule = (path: string, prefix = '', delimiters = '') =>
  ({ path, prefix, delimiter: delimiters }) as never;

test('the user is found by the path, prefix and delimiters of the rules', () => {
  using authority = new OpensslAuthority();
  const { certificate } = authority.issue('/O=Example/CN=www.alice;rest', {
    names: 'URI:urn:user:bob/extra,DNS:carol.example.com,email:dave@example.com,DNS:second.example.com',
  });
  const { subject, subjectAltName } = new X509Certificate(certificate);
  const found = (...rules: never[]) => certificateUser({ subject, subjectAltName }, rules);
  assert.equal(found(rule('subject.cn')), 'www.alice;rest');
  assert.equal(found(rule('subject.cn', 'www.', ';')), 'alice');
  assert.equal(found(rule('san.uri', 'urn:user:', '/#')), 'bob');
  assert.equal(found(rule('san.dnsname', '', '.')), 'carol');
  assert.equal(found(rule('san.dnsname', 'second', 'x')), '.e');
  assert.equal(found(rule('san.email', '', '@')), 'dave');
  assert.equal(found(rule('san.email', 'x'), rule('subject.cn', 'www.', ';')), 'alice');
  assert.equal(found(rule('san.email', 'x')), null);
  assert.equal(found(rule('subject.cn', 'www.alice;rest')), null);
});

test('a subject alternative name that contains separators is not split at them', () => {
  using authority = new OpensslAuthority();
  // One URI that contains what looks like an email name. OpenSSL reads a value with a comma only from a section, here [all].
  const { certificate } = authority.issue('/CN=x', {
    names: '@all\n[all]\nURI.1=http://x/?a=, email:root@example.com',
  });
  const { subject, subjectAltName } = new X509Certificate(certificate);
  assert.equal(certificateUser({ subject, subjectAltName }, [rule('san.email', '', '@')]), null);
});

test('only a CN attribute of the subject is the common name, not a “CN=” within the value of another attribute', () => {
  const rules = [rule('subject.cn')];
  const userOf = (subject: string) => certificateUser({ subject, subjectAltName: undefined }, rules);
  for (const separator of ['\u2028', '\u2029', '\\0A', '\\0D', ' \\+ ']) {
    assert.equal(userOf(`O=x${separator}CN=Administrator\nCN=mallory`), 'mallory', separator);
    assert.equal(userOf(`CN=\nO=x${separator}CN=Administrator`), null, separator);
  }
  assert.equal(userOf('CN=mallory\u2028CN=Administrator'), 'mallory\u2028CN=Administrator');
  assert.equal(userOf('O=Example\nCN=alice + OU=sales'), 'alice');
  assert.equal(userOf('O=Example\nOU=sales + CN=alice'), 'alice');
  assert.equal(userOf('CN=a \\+ OU=b'), 'a + OU=b');
});
