// Login by SCRAM-SHA512 (RFC 5802): the server never receives the password, and proves that it knows the account's verifier.
import { createHash, createHmac, pbkdf2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { realRandom } from '#ports/random.ts';
import { SaslAuth, SaslStep } from '#wire/commands/session.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { DataPortError, StatusError } from './data-port-error.ts';

/** Base64 of `n,,`, the header that says that the channel is not bound. */
const channelBinding = 'biws';
const mechanism = Buffer.from('SCRAM-SHA512');
const hash = 'sha512';
const keyBytes = 64;
const nonceBytes = 18;
/** A server that requires more iterations would occupy this process. */
const iterationsMax = 1_000_000;
const derive = promisify(pbkdf2);

interface ScramConnection {
  request(request: RequestParts): Promise<{ status: number; value: Buffer }>;
}

/**
 * @throws StatusError when the server refuses the account
 * @throws DataPortError when it does not follow the protocol, or does not know the account's verifier
 */
export async function logInByScram(
  connection: ScramConnection,
  { username, password }: { username: string; password: string },
): Promise<void> {
  const nonce = realRandom.bytes(nonceBytes).toString('base64');
  const clientFirst = `n=${escaped(username)},r=${nonce}`;
  const challenge = await ask(connection, SaslAuth.opcode, `n,,${clientFirst}`, Status.authContinue);
  const { salt, iterations, serverNonce } = readChallenge(challenge, nonce);
  const salted = await derive(password, salt, iterations, keyBytes, hash);
  const withoutProof = `c=${channelBinding},r=${serverNonce}`;
  const authMessage = `${clientFirst},${challenge},${withoutProof}`;
  const clientKey = hmac(salted, 'Client Key');
  const clientSignature = hmac(createHash(hash).update(clientKey).digest(), authMessage);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (clientSignature[index] as number)));
  const clientFinal = `${withoutProof},p=${proof.toString('base64')}`;
  const answer = await ask(connection, SaslStep.opcode, clientFinal, Status.success);
  const expected = hmac(hmac(salted, 'Server Key'), authMessage);
  const serverSignature = Buffer.from(/^v=([^,]+)/.exec(answer)?.[1] ?? '', 'base64');
  if (serverSignature.length !== expected.length || !timingSafeEqual(serverSignature, expected))
    throw new DataPortError('the data port did not prove that it knows the account');
}

async function ask(
  connection: ScramConnection,
  opcode: number,
  text: string,
  expected: number,
): Promise<string> {
  const reply = await connection.request({ opcode, key: mechanism, value: Buffer.from(text) });
  if (reply.status !== expected) throw new StatusError(opcode, reply.status);
  return reply.value.toString();
}

function readChallenge(text: string, nonce: string) {
  const [, serverNonce = '', salt = '', count = ''] = /^r=([^,]+),s=([^,]+),i=(\d{1,7})/.exec(text) ?? [];
  const iterations = Number(count);
  if (!serverNonce.startsWith(nonce) || iterations === 0 || iterations > iterationsMax)
    throw new DataPortError('the data port sent an invalid SCRAM challenge');
  return { serverNonce, salt: Buffer.from(salt, 'base64'), iterations };
}

/** Names are sent with `=` and `,` escaped. */
const escaped = (name: string): string => name.replaceAll('=', '=3D').replaceAll(',', '=2C');

const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest();
