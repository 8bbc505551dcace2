// Authentication over a real socket; session.test.ts has further tests of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultPasswordPolicy, nameProblem, passwordProblem } from '#auth/identity-rules.ts';
import { realKdf } from '#auth/kdf.host.ts';
import type { Kdf } from '#auth/kdf.ts';
import type { UserSpec } from '#auth/privileges.ts';
import { Status } from '#wire/status.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { Opcode } from '../../../test/support/opcodes.ts';

const scramOf = ({ scram }: UserSpec) => scram ?? assert.fail('the user has no password');

test('a PLAIN login with another authorization identity is refused', async () => {
  await using service = await startService(
    aDesired({ users: [aUser('admin', 'password'), aUser('other', 'password')] }),
  );
  const client = await service.connect();
  await client.hello(usualFeatures);
  const login = async (message: string) =>
    (await client.ask({ opcode: Opcode.saslAuth, key: Buffer.from('PLAIN'), value: Buffer.from(message) }))
      .status;
  for (const otherId of ['other', 'nobody', ' ', 'Admin']) {
    assert.equal(await login(`${otherId}\0admin\0password`), Status.authError, otherId);
    assert.equal((await client.select('b')).status, Status.noAccess);
  }
  for (const ownId of ['', 'admin'])
    assert.equal(await login(`${ownId}\0admin\0password`), Status.success, ownId);
});

test('a SCRAM login with another authorization identity is refused', async () => {
  await using service = await startService(
    aDesired({ users: [aUser('a,b', 'password'), aUser('c', 'password')] }),
  );
  const client = await service.connect();
  await client.hello(usualFeatures);
  const begin = async (header: string) =>
    (
      await client.ask({
        opcode: Opcode.saslAuth,
        key: Buffer.from('SCRAM-SHA256'),
        value: Buffer.from(`${header},n=a=2Cb,r=nonce`),
      })
    ).status;
  for (const header of ['n,a=c', 'y,a=nobody', 'n,a=a'])
    assert.equal(await begin(header), Status.authError, header);
  assert.equal(await begin('n,a=a=2'), Status.invalidArguments);
  for (const header of ['n,', 'n,a=', 'n,a=a=2Cb'])
    assert.equal(await begin(header), Status.authContinue, header);
});

test('a user logs in with every mechanism whose name and password are the longest that the REST API accepts', async () => {
  // Each character has four bytes in UTF-8 and two code units in a string.
  const name = '\u{20000}'.repeat(128);
  const password = 'p'.repeat(4_096);
  const problems = [nameProblem(name, 'Username'), passwordProblem(password, defaultPasswordPolicy)];
  assert.deepEqual(problems, [null, null]);
  await using service = await startService(aDesired({ users: [aUser(name, password)] }));
  const client = await service.connect();
  await client.hello(usualFeatures);
  const value = Buffer.from(`${name}\0${name}\0${password}`);
  const plain = await client.ask({ opcode: Opcode.saslAuth, key: Buffer.from('PLAIN'), value });
  assert.equal(plain.status, Status.success);
  const begun = await client.beginScram('SCRAM-SHA512', name, password);
  assert.equal((await begun.finish()).reply.status, Status.success);
});

test('an unknown user gets as many iterations as real users do, although accounts of the node itself have fewer', async () => {
  const admin = aUser('admin', 'password');
  const { sha1, sha256, sha512 } = scramOf(admin);
  const few = { iterations: 1 };
  const scram = { sha1: { ...sha1, ...few }, sha256: { ...sha256, ...few }, sha512: { ...sha512, ...few } };
  const own = { ...admin, name: '@divan-services', scram };
  for (const users of [
    [admin, own],
    [own, admin],
  ]) {
    await using service = await startService(aDesired({ users }));
    const client = await service.connect();
    const iterations = async (name: string) => {
      const value = Buffer.from(`n,,n=${name},r=abc`);
      const begin = { opcode: Opcode.saslAuth, key: Buffer.from('SCRAM-SHA512'), value };
      return /,i=(\d+)$/.exec((await client.ask(begin)).value.toString())?.[1];
    };
    assert.equal(await iterations('nobody'), await iterations('admin'));
  }
});

test('a correct login is not delayed by the delays of wrong passwords', async () => {
  const clock = new ManualClock();
  await using service = await startService(undefined, { clock });
  const guesses = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const guesser = await service.connect();
      await guesser.hello(usualFeatures);
      const key = Buffer.from('PLAIN');
      guesser.send({ opcode: Opcode.saslAuth, key, value: Buffer.from('\0admin\0guess') });
      return { guesser, reply: guesser.next() };
    }),
  );
  const client = await service.connect();
  await client.hello(usualFeatures);
  const login = {
    opcode: Opcode.saslAuth,
    key: Buffer.from('PLAIN'),
    value: Buffer.from('\0admin\0password'),
  };
  const order: string[] = [];
  const right = client.ask(login).then(({ status }) => order.push(`logged in ${status}`));
  const wrong = guesses.map(({ reply }) => reply.then((reply) => order.push(`reply ${reply?.status}`)));
  await right;
  await eventually(() => {
    clock.advance(100);
    assert.equal(order.length, 1 + wrong.length);
  });
  assert.deepEqual(order, ['logged in 0', ...Array(4).fill(`reply ${Status.authError}`)]);
});

test('a refused login takes the same work whether the account is external, local or absent', async () => {
  let derived = 0;
  const kdf: Kdf = {
    scrypt: (...sent) => realKdf.scrypt(...sent),
    pbkdf2: (...sent) => {
      derived++;
      return realKdf.pbkdf2(...sent);
    },
  };
  const jane = { ...aUser('jane', 'password'), isExternal: true };
  await using service = await startService(aDesired({ users: [aUser('admin', 'password'), jane] }), { kdf });
  for (const name of ['jane', 'admin', 'nobody']) {
    const client = await service.connect();
    await client.hello(usualFeatures);
    derived = 0;
    const login = {
      opcode: Opcode.saslAuth,
      key: Buffer.from('PLAIN'),
      value: Buffer.from(`\0${name}\0guess`),
    };
    assert.equal((await client.ask(login)).status, Status.authError);
    assert.equal(derived, 1, name);
  }
});
