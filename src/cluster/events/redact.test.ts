import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redacted } from './redact.ts';

const hidden = '********';

describe('the redacted form of a request', () => {
  it('is every plain field', () => {
    assert.deepEqual(redacted({ ramQuotaMB: '100', 'a[b]': 'true', count: 3 }), {
      ...{ ramQuotaMB: '100', 'a[b]': 'true', count: 3 },
    });
  });

  it('is no value of a field that may hold a secret', () => {
    const names = [
      'password',
      'emailPass',
      'saslPassword',
      'certificateKey',
      'clientCertificate',
      'pem',
      'authToken',
    ];
    const sent = Object.fromEntries(names.map((name) => [name, 'planted']));
    assert.deepEqual(redacted(sent), Object.fromEntries(names.map((name) => [name, hidden])));
    assert.deepEqual(redacted({ uri: 'https://me:planted@host/x' }), { uri: `https://${hidden}@host/x` });
  });

  it('is nothing of names that are no names, of objects and of bytes', () => {
    assert.deepEqual(redacted({ 'a secret, sent as a name': '' }), { '?': hidden });
    assert.deepEqual(redacted({ nested: { inner: 'planted' }, list: ['planted'] }), {
      ...{ nested: hidden, list: { entries: 1 } },
    });
    assert.deepEqual(redacted(Buffer.from('planted')), { bytes: 7 });
    assert.deepEqual(redacted(['planted']), { entries: 1 });
    assert.deepEqual(redacted('planted'), {});
  });

  it('is bounded', () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`f${index}`, 'x'.repeat(1000)]),
    );
    const kept = redacted(many);
    assert.equal(Object.keys(kept).length, 50);
    assert.equal((kept['f0'] as string).length, 201);
  });
});
