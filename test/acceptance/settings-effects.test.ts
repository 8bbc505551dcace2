// Effects of settings that no other acceptance test shows: each setting is changed over REST on a real node.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { dataClient, get, set } from '../support/data-client.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';

const { snappy } = Datatype;
/** `xxxx…` in the compressed form: a length of 64, a literal of one byte, and a copy of the rest. */
const compressed = Buffer.from([64, 0x00, 0x78, 0xfa, 1, 0]);

describe('a setting that was changed', () => {
  let node: NodeProcess;
  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  });
  after(() => node[Symbol.asyncDispose]());

  const change = async (path: string, form: Record<string, string>, method = 'POST') => {
    const { status } = await node.request(path, method, form);
    return status;
  };
  const bucket = (form: Record<string, string>) => change('/pools/default/buckets/b', form);
  const make = (form: Record<string, string>) => change('/pools/default/buckets', form);

  it('of the password policy applies only to passwords that are set later', async () => {
    const user = (name: string, password: string) =>
      change(`/settings/rbac/users/local/${name}`, { password, roles: 'ro_admin' }, 'PUT');
    const login = async (name: string, password: string) => {
      const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
      return (await fetch(`${node.ready.node.rest}/whoami`, { headers: { authorization } })).status;
    };
    assert.equal(await user('old', 'weak12'), 200);
    const policy = { minLength: '8', enforceUppercase: 'true', enforceDigits: 'true' };
    const all = { ...policy, enforceLowercase: 'true', enforceSpecialChars: 'true' };
    assert.equal(await change('/settings/passwordPolicy', all), 200);
    for (const weak of ['weak12', 'Aa1!567', 'aa1!5678', 'AA1!5678', 'Aaa!aaaa', 'Aa1a5678']) {
      assert.equal(await user('new', weak), 400, weak);
    }
    assert.equal(await user('new', 'Aa1!5678'), 200);
    assert.deepEqual([await login('old', 'weak12'), await login('new', 'Aa1!5678')], [200, 200]);
  });

  it('of security applies to the next answer', async () => {
    const refused = () => fetch(`${node.ready.node.rest}/pools/default`);
    assert.match((await refused()).headers.get('www-authenticate') ?? '', /^Basic/);
    const responseHeaders = '{"Strict-Transport-Security":"max-age=1"}';
    assert.equal(
      await change('/settings/security', { disableWWWAuthenticate: 'true', responseHeaders }),
      200,
    );
    const { headers } = await refused();
    assert.equal(headers.get('www-authenticate'), null);
    assert.equal(headers.get('strict-transport-security'), 'max-age=1');
  });

  it('of memory and of the number of buckets bounds the next bucket', async () => {
    assert.equal(await change('/internalSettings', { maxBucketCount: '1' }), 200);
    assert.equal(await make({ name: 'second', ramQuotaMB: '100' }), 400);
    assert.equal(await change('/internalSettings', { maxBucketCount: '2' }), 200);
    const { memoryQuota } = (await (await node.request('/pools/default')).json()) as { memoryQuota: number };
    const least = Math.max(256, memoryQuota - 1);
    assert.equal(await change('/pools/default', { memoryQuota: `${least}` }), 200);
    assert.equal(await make({ name: 'second', ramQuotaMB: `${least}` }), 400);
  });

  it('of expiry applies to documents that are written later', async () => {
    const client = await dataClient(node);
    await client.ask(set('before', 'x'));
    assert.equal(await bucket({ maxTTL: '1' }), 200);
    await client.ask(set('after', 'x'));
    await eventually(async () => assert.equal((await client.ask(get('after'))).status, Status.keyNotFound));
    assert.equal((await client.ask(get('before'))).status, Status.success);
    assert.equal(await bucket({ maxTTL: '0' }), 200);
    client.close();
  });

  it('of compression decides in which form clients receive values', async () => {
    const client = await dataClient(node);
    const stored = async () => {
      await client.ask(set('text', compressed, { datatype: snappy }));
      return (await client.ask(get('text'))).datatype & snappy;
    };
    assert.equal(await stored(), snappy);
    assert.equal(await bucket({ compressionMode: 'off' }), 200);
    await eventually(async () => assert.equal(await stored(), 0));
    client.close();
  });

  it('of the minimum durability makes acknowledged plain writes survive a kill', async () => {
    assert.equal(await bucket({ durabilityMinLevel: 'persistToMajority' }), 200);
    const client = await dataClient(node);
    assert.equal((await client.ask(set('kept', 'x'))).status, Status.success);
    await node.stop('SIGKILL');
    await using again = await NodeProcess.start({ dataDir: node.dataDir });
    const reader = await dataClient(again);
    await eventually(async () => assert.equal((await reader.ask(get('kept'))).value.toString(), 'x'));
    reader.close();
    client.close();
  });
});
