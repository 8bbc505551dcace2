import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { getCiphers } from 'node:tls';
import { needs } from '../../../test/support/needs.ts';
import { CipherNames, ianaName } from './cipher-names.ts';

/** Suites that `ianaName` leaves out: those in which the server has no certificate, and those with short authentication tags (CCM-8). */
const unnamed = /psk|srp|ccm_?8|^a?null|adh|aecdh/i;

describe('names of cipher suites', () => {
  it('are those of the IANA registry, as OpenSSL lists them', { skip: needs('openssl') }, (t) => {
    const listed = execFileSync('openssl', ['ciphers', '-stdname', 'ALL:!aNULL:!PSK:!SRP:!aDSS:@SECLEVEL=0']);
    const lines = listed.toString().trim().split('\n');
    const pairs = lines.map((line) => line.split(/\s+/)).map(([iana, , openssl]) => [iana, openssl] as const);
    const named = pairs.filter(([, openssl]) => !unnamed.test(openssl as string));
    assert.ok(named.length > 40);
    t.plan(named.length);
    for (const [iana, openssl] of named) t.assert.equal(ianaName(openssl as string), iana);
  });

  it('exist for every suite of this runtime that uses certificates', () => {
    const without = getCiphers().filter((name) => ianaName(name) === null && !unnamed.test(name));
    assert.deepEqual(without, []);
  });

  it('are not given to suites without certificates or to unknown names', (t) => {
    const others = [
      'psk-aes128-gcm-sha256',
      'srp-aes-128-cbc-sha',
      'adh-aes128-sha',
      'null-sha',
      'AES128-CCM8',
      'x',
      '',
    ];
    t.plan(others.length);
    for (const name of others) t.assert.equal(ianaName(name), null, name);
  });

  it('are accepted in both forms, and stored as in the registry', () => {
    const names = new CipherNames(() => [
      'ecdhe-rsa-aes128-gcm-sha256',
      'aes128-sha',
      'tls_aes_128_gcm_sha256',
      'psk-aes128-cbc-sha',
    ]);
    assert.deepEqual(names.all, [
      'TLS_AES_128_GCM_SHA256',
      'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
      'TLS_RSA_WITH_AES_128_CBC_SHA',
    ]);
    assert.equal(names.ianaNameOf('AES128-SHA'), 'TLS_RSA_WITH_AES_128_CBC_SHA');
    assert.equal(names.ianaNameOf('TLS_RSA_WITH_AES_128_CBC_SHA'), 'TLS_RSA_WITH_AES_128_CBC_SHA');
    assert.equal(names.ianaNameOf('AES256-SHA'), null, 'the runtime lacks it');
    assert.equal(names.ianaNameOf('TLS_RSA_WITH_AES_256_CBC_SHA'), null);
    assert.deepEqual(names.toOpenssl([...names.all, 'TLS_GONE']), [
      'TLS_AES_128_GCM_SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
      'AES128-SHA',
    ]);
    assert.deepEqual(names.toOpenssl([]), [], 'the list of the runtime');
  });

  it('give way to safe suites where the runtime has none of the chosen ones any more', () => {
    const names = new CipherNames(() => [
      'aes128-sha',
      'ecdhe-rsa-aes128-gcm-sha256',
      'tls_aes_128_gcm_sha256',
    ]);
    assert.deepEqual(names.toOpenssl(['TLS_GONE']), [
      'TLS_AES_128_GCM_SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
    ]);
  });
});
