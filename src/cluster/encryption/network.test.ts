import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { checkSettings, managerTarget, refusals } from '../../../test/support/settings-suite.ts';
import type { Family } from '../config/cluster-state.ts';

const at = (call: string) => `/node/controller/${call}`;
const words = (list: string) => `The value must be one of the following: [${list}]`;
const unencrypted = { afamily: 'inet', nodeEncryption: false };
const encrypted = { afamily: 'inet', nodeEncryption: true };

interface NodeAnswer {
  addressFamily: string;
  addressFamilyOnly: boolean;
  nodeEncryption: boolean;
  externalListeners: unknown;
}

async function aNetwork(options: Parameters<typeof aManager>[0] = {}) {
  const fixture = await aManager(options);
  const { request } = fixture;
  if (options.provisioned !== false) await request('/settings/autoFailover', { form: { enabled: 'false' } });
  const post = async (call: string, form: Record<string, string> = {}) => {
    const { status, body, text } = await request(at(call), { form });
    return [status, body ?? text];
  };
  const node = async () => {
    const { nodeEncryption, externalListeners } = (await request('/nodes/self')).body as NodeAnswer;
    return [nodeEncryption, externalListeners];
  };
  const level = (clusterEncryptionLevel: string) =>
    request('/settings/security', { form: { clusterEncryptionLevel } });
  return { ...fixture, post, node, level };
}

const refused = (fields: Record<string, string>) => [400, { errors: fields }];

describe('the network between nodes', () => {
  it('accepts, stores and refuses the documented values of each field', async (t) => {
    await using target = await managerTarget();
    await target.send('POST', '/settings/autoFailover', { enabled: 'false' });
    await checkSettings(t, target, {
      write: at('setupNetConfig'),
      read: '/nodes/self',
      base: { afamily: 'ipv4' },
      refusal: refusals.fields,
      parameters: [
        {
          name: 'nodeEncryption',
          good: [
            ['on', true],
            ['off', false],
          ],
          bad: ['true', 'ON', ''].map((sent) => [sent, words('on,off')] as const),
          missing: { reads: false },
        },
        {
          name: 'afamily',
          good: [['ipv4', 'inet']],
          bad: [
            ['ipv5', words('ipv4,ipv6')],
            [
              'ipv6',
              'The node was started on an address of another family (--host), so ipv6 is not available',
            ],
          ],
          missing: { key: '_', text: 'Request should have parameters' },
          find: (answer: NodeAnswer) => answer.addressFamily,
        },
        {
          name: 'afamilyOnly',
          good: [
            ['true', true],
            ['false', false],
          ],
          bad: [['1', words('true,false')]],
          missing: { reads: false },
          find: (answer: NodeAnswer) => answer.addressFamilyOnly,
        },
        { name: 'strange', bad: [['1', 'Unsupported key']], missing: { reads: undefined } },
      ],
    });
  });

  it('is encrypted by three published calls, and unencrypted again by three', async () => {
    const { post, node } = await aNetwork();
    assert.deepEqual(await node(), [false, [unencrypted]]);
    assert.deepEqual(await post('enableExternalListener', { nodeEncryption: 'on' }), [200, '']);
    assert.deepEqual(await node(), [false, [unencrypted, encrypted]]);
    assert.deepEqual(await post('setupNetConfig', { nodeEncryption: 'on' }), [200, '']);
    assert.deepEqual(await node(), [true, [unencrypted, encrypted]]);
    assert.deepEqual(await post('disableUnusedExternalListeners'), [200, '']);
    assert.deepEqual(await node(), [true, [encrypted]]);
    await post('enableExternalListener', { nodeEncryption: 'off' });
    await post('setupNetConfig', { nodeEncryption: 'off' });
    assert.deepEqual(await post('disableExternalListener', { nodeEncryption: 'on' }), [200, '']);
    assert.deepEqual(await node(), [false, [unencrypted]]);
  });

  it('is adapted at a start to the address families of that start, and is not written if it fits them already', async () => {
    const { post, store, manager } = await aNetwork();
    await post('setupNetConfig', { afamilyOnly: 'true', nodeEncryption: 'on' });
    await manager.stop();
    const restarted = async (families: Family[]) => {
      const again = await aManager({ store, families });
      const { addressFamily, addressFamilyOnly, nodeEncryption, externalListeners } = (
        await again.request('/nodes/self')
      ).body as NodeAnswer;
      await again.manager.stop();
      return [addressFamily, addressFamilyOnly, nodeEncryption, externalListeners];
    };
    const listeners = (afamily: string) =>
      [unencrypted, encrypted].map((listener) => ({ ...listener, afamily }));
    assert.deepEqual(await restarted(['inet']), ['inet', true, true, listeners('inet')]);
    assert.deepEqual(await restarted(['inet6']), ['inet6', true, true, listeners('inet6')]);
    const { revision } = (await store.get('cluster')) ?? {};
    assert.deepEqual(await restarted(['inet6']), ['inet6', true, true, listeners('inet6')]);
    assert.equal((await store.get('cluster'))?.revision, revision);
    assert.deepEqual(await restarted(['inet', 'inet6']), ['inet6', false, true, listeners('inet6')]);
  });

  it('refuses to remove the listener that it uses, with the reason', async () => {
    const { post, node } = await aNetwork();
    const _ = 'The listener (ipv4, not encrypted) is in use. Choose another by setupNetConfig first.';
    assert.deepEqual(await post('disableExternalListener', { afamily: 'ipv4' }), refused({ _ }));
    assert.deepEqual(
      await post('disableExternalListener?just_validate=1', { afamily: 'ipv4' }),
      refused({ _ }),
    );
    assert.deepEqual(await post('disableExternalListener', { afamily: 'ipv6' }), [200, '']);
    const strange = { strange: 'Unsupported key' };
    assert.deepEqual(await post('disableUnusedExternalListeners', { strange: '1' }), refused(strange));
    assert.deepEqual(await post('enableExternalListener'), refused({ _: 'Request should have parameters' }));
    assert.deepEqual(await post('enableExternalListener?just_validate=1', { nodeEncryption: 'on' }), [
      200,
      { errors: {} },
    ]);
    assert.deepEqual(await node(), [false, [unencrypted]]);
  });

  it('cannot be changed while auto-failover is enabled', async () => {
    const { request } = await aManager();
    const { status, body } = await request(at('setupNetConfig'), { form: { nodeEncryption: 'on' } });
    const _ = "Can't change network configuration when auto-failover is enabled.";
    assert.deepEqual([status, body], refused({ _ }));
  });

  it('can be chosen while the node is set up', async () => {
    const { post, node, request } = await aNetwork({ provisioned: false });
    assert.deepEqual(await post('setupNetConfig', { nodeEncryption: 'on' }), [200, '']);
    assert.deepEqual(await node(), [true, [unencrypted, encrypted]]);
    const form = { nodeEncryption: 'off', port: 'SAME', username: 'a', password: 'password' };
    assert.equal((await request('/clusterInit', { form })).status, 200);
    const { body } = await request('/nodes/self', { as: 'a:password' });
    assert.equal(body.nodeEncryption, false);
  });

  it('needs the enterprise edition', async () => {
    const { post } = await aNetwork({ edition: 'community' });
    const nodeEncryption = 'Node encryption is not supported in community edition';
    assert.deepEqual(await post('setupNetConfig', { nodeEncryption: 'on' }), refused({ nodeEncryption }));
    assert.deepEqual(
      await post('enableExternalListener', { nodeEncryption: 'on' }),
      refused({ nodeEncryption }),
    );
  });
});

describe('the level of encryption in a cluster', () => {
  it('exists while traffic between nodes is encrypted, and prevents that this encryption is disabled', async (t) => {
    const { post, level, request } = await aNetwork();
    const encryption = async () => (await request('/settings/security')).body.clusterEncryptionLevel;
    const inPool = async () => (await request('/pools/default')).body.clusterEncryptionLevel;
    assert.equal(await inPool(), 'none');
    await post('setupNetConfig', { nodeEncryption: 'on' });
    assert.deepEqual([await encryption(), await inPool()], ['control', 'control']);
    for (const name of ['all', 'strict']) {
      assert.equal((await level(name)).status, 200);
      assert.deepEqual([await encryption(), await inPool()], [name, name]);
      const nodeEncryption = `Can't disable nodeEncryption when the cluster encryption level has been set to ${name}`;
      assert.deepEqual(await post('setupNetConfig', { nodeEncryption: 'off' }), refused({ nodeEncryption }));
    }
    const bad = await level('none');
    const reason = 'Cluster encryption level must be one of ["control","all","strict"]';
    assert.deepEqual(bad.body, { errors: [`clusterEncryptionLevel - ${reason}`] });
    assert.equal(
      (await request('/settings/security/clusterEncryptionLevel', { method: 'DELETE' })).status,
      200,
    );
    assert.equal(await encryption(), 'control');
    assert.deepEqual(await post('setupNetConfig', { nodeEncryption: 'off' }), [200, '']);
    assert.equal(await encryption(), undefined);
    t.assert.equal((await request('/settings/security/clusterEncryptionLevel')).status, 404);
  });

  it('is one of three, kept over restarts, and unchanged if omitted', async (t) => {
    await using target = await managerTarget();
    await target.send('POST', '/settings/autoFailover', { enabled: 'false' });
    await target.send('POST', at('enableExternalListener'), { nodeEncryption: 'on' });
    await target.send('POST', at('setupNetConfig'), { nodeEncryption: 'on' });
    const text = 'Cluster encryption level must be one of ["control","all","strict"]';
    await checkSettings(t, target, {
      write: '/settings/security',
      read: '/settings/security',
      refusal: refusals.list,
      base: { honorCipherOrder: 'true' },
      parameters: [
        {
          name: 'clusterEncryptionLevel',
          good: ['all', 'strict', 'control', 'all'].map((level) => [level, level] as const),
          bad: ['', 'none', 'All', '1'].map((level) => [level, text] as const),
          missing: { reads: 'all' },
        },
      ],
    });
  });

  it('stays at control while clients must show certificates', async () => {
    const { post, level, request, manager } = await aNetwork();
    await manager.certificates.ready;
    await post('setupNetConfig', { nodeEncryption: 'on' });
    const prefixes = [{ path: 'subject.cn', prefix: '', delimiter: '' }];
    const demanded = await request('/settings/clientCertAuth', {
      method: 'POST',
      json: { state: 'mandatory', prefixes },
    });
    assert.ok(demanded.status < 300, demanded.text);
    const { status, body } = await level('strict');
    const state = "client certificate authentication state is set to 'mandatory'";
    const text = `clusterEncryptionLevel - Can't set cluster encryption level to 'strict' when ${state}.`;
    assert.deepEqual([status, body], [400, { errors: [text] }]);
    assert.equal((await level('control')).status, 200);
  });

  it('keeps clients from having to show certificates unless it is control', async () => {
    const { post, level, request, manager } = await aNetwork();
    await manager.certificates.ready;
    await post('setupNetConfig', { nodeEncryption: 'on' });
    const prefixes = [{ path: 'subject.cn', prefix: '', delimiter: '' }];
    const set = async (state: string) => {
      const json = { state, prefixes };
      const answer = await request('/settings/clientCertAuth', { method: 'POST', json });
      return [answer.status, answer.body];
    };
    for (const name of ['all', 'strict']) {
      await level(name);
      const text = "Cannot set 'state' to 'mandatory' when cluster encryption level has been set to 'all'";
      assert.deepEqual(await set('mandatory'), [400, [text]], name);
    }
    assert.equal((await set('enable'))[0], 202);
    await level('control');
    assert.equal((await set('mandatory'))[0], 202);
  });

  it('closes plain ports to other machines when it is strict', async () => {
    const { post, level, manager, kv } = await aNetwork();
    await post('enableExternalListener', { nodeEncryption: 'on' });
    await post('setupNetConfig', { nodeEncryption: 'on' });
    assert.deepEqual(manager.listening.betweenNodes, { plain: true, tls: true });
    let changes = 0;
    manager.listening.onChange(() => changes++);
    await level('strict');
    assert.ok(changes > 0);
    assert.equal(manager.listening.isPlainForThisMachineOnly, true);
    assert.deepEqual(manager.listening.betweenNodes, { plain: false, tls: true });
    assert.equal(await manager.applied(60_000), true);
    assert.equal(kv.desired?.plainForThisMachineOnly, true);
    await level('all');
    assert.equal(manager.listening.isPlainForThisMachineOnly, false);
  });
});
