import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redacted } from './redact.ts';

const hidden = '********';

describe('the redacted form of a request', () => {
  it('contains every plain field', () => {
    assert.deepEqual(redacted({ ramQuotaMB: '100', 'a[b]': 'true', count: 3 }), {
      ramQuotaMB: '100',
      'a[b]': 'true',
      count: 3,
    });
  });

  it('hides values of fields that may contain secrets', () => {
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
    for (const [uri, shown] of [
      ['https://me:planted@host/x', `https://${hidden}@host/x`],
      // Clients read the last at sign as the end of the account.
      ['https://me:pl@nted@host/x@y', `https://${hidden}@host/x@y`],
      ['http://a:planted@x,http://b:planted@y', `http://${hidden}@x,http://${hidden}@y`],
    ])
      assert.deepEqual(redacted({ uri }), { uri: shown });
  });

  it('hides invalid names, objects and bytes', () => {
    assert.deepEqual(redacted({ 'a secret, sent as a name': '' }), { '?': hidden });
    assert.deepEqual(redacted({ nested: { inner: 'planted' }, list: ['planted'] }), {
      nested: hidden,
      list: { entries: 1 },
    });
    assert.deepEqual(redacted(Buffer.from('planted')), { bytes: 7 });
    assert.deepEqual(redacted(['planted']), { entries: 1 });
    assert.deepEqual(redacted('planted'), {});
  });

  it('has at most 50 fields of 200 characters each', () => {
    const many = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`f${index}`, 'x'.repeat(1000)]),
    );
    const attributes = redacted(many);
    assert.equal(Object.keys(attributes).length, 50);
    assert.equal((attributes['f0'] as string).length, 201);
  });
});
