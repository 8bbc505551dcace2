import assert from 'node:assert/strict';
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { realKdf } from './kdf.host.ts';
import { passwordMatches, storePassword } from './passwords.ts';

test('the stored verifiers accept the proof of a SCRAM client, and contain no password', async () => {
  const stored = await storePassword('pencil', realKdf, realRandom);
  assert.ok(!JSON.stringify(stored).includes('pencil'));
  assert.ok(await passwordMatches(stored, 'pencil', realKdf));
  assert.ok(!(await passwordMatches(stored, 'Pencil', realKdf)));
  for (const [hash, bytes] of [
    ['sha1', 20],
    ['sha256', 32],
    ['sha512', 64],
  ] as const) {
    const verifier = stored.scram[hash];
    assert.ok(verifier.iterations >= 4096);
    const salt = Buffer.from(verifier.salt, 'base64');
    const salted = pbkdf2Sync('pencil', salt, verifier.iterations, bytes, hash);
    const clientKey = createHmac(hash, salted).update('Client Key').digest();
    assert.equal(verifier.storedKey, createHash(hash).update(clientKey).digest('base64'));
  }
});
