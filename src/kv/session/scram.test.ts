import assert from 'node:assert/strict';
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import { type ClientFirst, readClientFirst, ScramExchange, type ScramHash, scramHashes } from './scram.ts';

const salt = Buffer.from('0123456789abcdef').toString('base64');
const iterations = 4096;

/** The keys of RFC 5802, section 3. */
function keysOf(hash: ScramHash, password: string) {
  const length = createHash(hash).digest().length;
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, length, hash);
  const clientKey = createHmac(hash, salted).update('Client Key').digest();
  const serverKey = createHmac(hash, salted).update('Server Key').digest();
  return { clientKey, serverKey, storedKey: createHash(hash).update(clientKey).digest() };
}

function anExchange(mechanism: string, options: { credentialId?: string | null } = {}) {
  const hash = scramHashes.get(mechanism) as ScramHash;
  const { clientKey, serverKey, storedKey } = keysOf(hash, 'pencil');
  const first = readClientFirst('n,,n=user,r=client') as ClientFirst;
  const exchange = new ScramExchange(
    mechanism,
    first,
    'server',
    { salt, iterations, storedKey: storedKey.toString('base64'), serverKey: serverKey.toString('base64') },
    options.credentialId === undefined ? 'id' : options.credentialId,
  );
  const withoutProof = 'c=biws,r=clientserver';
  const message = `n=user,r=client,${exchange.challenge},${withoutProof}`;
  const signature = createHmac(hash, storedKey).update(message).digest();
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
  const finish = (sent: Buffer) => exchange.finish(`${withoutProof},p=${sent.toString('base64')}`);
  const serverSignature = createHmac(hash, serverKey).update(message).digest('base64');
  return { exchange, proof, finish, serverSignature };
}

for (const mechanism of scramHashes.keys())
  describe(mechanism, () => {
    it('accepts the right proof, and proves that the server knows the user', () => {
      const { finish, proof, serverSignature } = anExchange(mechanism);
      assert.equal(finish(proof), `v=${serverSignature}`);
    });

    it('refuses a proof of another length', () => {
      const { finish, proof } = anExchange(mechanism);
      for (const other of [
        Buffer.alloc(0),
        proof.subarray(0, -1),
        proof.subarray(0, 1),
        Buffer.concat([proof, Buffer.alloc(1)]),
      ])
        assert.equal(finish(other), null);
    });

    it('refuses a proof with any bit changed', () => {
      const { finish, proof } = anExchange(mechanism);
      for (let bit = 0; bit < proof.length * 8; bit++) {
        const changed = Buffer.from(proof);
        changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.equal(finish(changed), null);
      }
    });

    it('refuses the right proof for another nonce, for another channel binding, without a proof and of an unknown user', () => {
      const { exchange, proof } = anExchange(mechanism);
      const encoded = proof.toString('base64');
      for (const text of [
        `c=biws,r=clientother,p=${encoded}`,
        `c=eSws,r=clientserver,p=${encoded}`,
        'c=biws,r=clientserver',
        '',
      ])
        assert.equal(exchange.finish(text), null);
      const unknown = anExchange(mechanism, { credentialId: null });
      assert.equal(unknown.finish(unknown.proof), null);
    });
  });
