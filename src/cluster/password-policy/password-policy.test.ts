import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import { securityRoleCount, usersBySecurityRole } from '../../../test/support/security-roles.ts';
import {
  checkSettings,
  managerTarget,
  type Parameter,
  refusals,
} from '../../../test/support/settings-suite.ts';

const path = '/settings/passwordPolicy';
const off = { enforceUppercase: 'false', enforceLowercase: 'false', enforceDigits: 'false' };
const notBoolean = 'The value must be one of the following: [true,false]';

const enforced = (name: string): Parameter => ({
  name,
  good: [
    ['true', true],
    ['false', false],
  ],
  bad: ['1', 'True', 'yes', ''].map((sent) => [sent, notBoolean] as const),
  missing: { reads: false },
});

const specials = [...'@%+\\/\'"!#$^?:,(){}[]~`-_.'];

describe('the password policy', () => {
  it('accepts, stores and refuses the specified values of each field', async (t) => {
    await using target = await managerTarget();
    await checkSettings(t, target, {
      write: path,
      read: path,
      base: { minLength: '6' },
      status: 200,
      refusal: refusals.fields,
      parameters: [
        {
          name: 'minLength',
          good: [
            ['0', 0],
            ['100', 100],
          ],
          bad: [
            ['-1', 'The value must be in range from 0 to 100'],
            ['101', 'The value must be in range from 0 to 100'],
            ['1000000000000000000000', 'The value must be in range from 0 to 100'],
            ['six', 'The value must be an integer'],
            ['6.5', 'The value must be an integer'],
            ['', 'The value must be an integer'],
          ],
          missing: { text: 'The value must be supplied' },
        },
        ...['enforceUppercase', 'enforceLowercase', 'enforceDigits', 'enforceSpecialChars'].map(enforced),
        { name: 'strange', bad: [['1', 'Unsupported key']], missing: { reads: undefined } },
      ],
    });
  });

  it('has the published values until it is set, and a change has an empty answer', async () => {
    const { request } = await aManager();
    assert.deepEqual((await request(path)).body, {
      minLength: 6,
      enforceUppercase: false,
      enforceLowercase: false,
      enforceDigits: false,
      enforceSpecialChars: false,
    });
    const valid = await request(`${path}?just_validate=1`, { form: { minLength: 9 } });
    assert.deepEqual(valid.body, { errors: {} });
    assert.equal((await request(path)).body.minLength, 6);
    const set = await request(path, { form: { minLength: 9 } });
    assert.deepEqual([set.status, set.text], [200, '']);
    assert.equal((await request(path)).body.minLength, 9);
  });

  it('is read and set by the roles of the specification only', async (t) => {
    const { request } = await aManager();
    t.plan(securityRoleCount * 2);
    for await (const { as, roles, readStatus, writeStatus } of usersBySecurityRole(request)) {
      t.assert.equal((await request(path, { as })).status, readStatus, `${roles} reads`);
      t.assert.equal(
        (await request(path, { as, form: { minLength: 6 } })).status,
        writeStatus,
        `${roles} sets`,
      );
    }
  });

  it('applies to every password set afterwards by any route, and leaves old ones valid', async () => {
    const { request } = await aManager();
    const put = (password: string) =>
      request('/settings/rbac/users/local/u', { method: 'PUT', form: { password, roles: 'admin' } });
    await put('secret');
    await request(path, { form: { minLength: 8, ...off, enforceDigits: 'true' } });
    const short = 'The password must be at least 8 characters long.';
    const noDigit = 'The password must contain at least one digit';
    const refused = async (sent: ReturnType<typeof request>, password: string) => {
      const { status, body } = await sent;
      assert.deepEqual([status, body], [400, { errors: { password } }]);
    };
    await refused(put('secret1'), short);
    await refused(put('secretly'), noDigit);
    await refused(
      request('/controller/changePassword', { as: 'u:secret', form: { password: 'short1' } }),
      short,
    );
    await refused(request('/controller/changePassword', { form: { password: 'long enough' } }), noDigit);
    const web = { port: 'SAME', username: 'Administrator', password: 'password' };
    await refused(request('/settings/web', { form: web }), noDigit);
    const patch = { method: 'PATCH' as const, form: { password: 'nodigits' } };
    await refused(request('/settings/rbac/users/local/u', patch), noDigit);
    for (const as of ['u:secret', 'Administrator:password']) {
      assert.equal(
        (await request('/pools', { as })).status,
        200,
        'a password that was set before the policy is refused',
      );
    }
    assert.equal((await put('secretly1')).status, 200);
    assert.equal((await request('/pools', { as: 'u:secretly1' })).status, 200);
  });

  it('counts each special character, and letters and digits of any script', async (t) => {
    const { request } = await aManager();
    const isFine = async (password: string) => {
      const form = { password, roles: 'admin' };
      return (await request('/settings/rbac/users/local/u', { method: 'PUT', form })).status === 200;
    };
    const cases: [rule: string, password: string, fine: boolean][] = [
      ...specials.map((special): [string, string, boolean] => ['enforceSpecialChars', special, true]),
      ...[...'aZ0&*<>=;| ä§€'].map((letter): [string, string, boolean] => [
        'enforceSpecialChars',
        letter,
        false,
      ]),
      ...[...'AZÄÉΩЖ'].map((letter): [string, string, boolean] => ['enforceUppercase', letter, true]),
      ...[...'az09ä_漢'].map((letter): [string, string, boolean] => ['enforceUppercase', letter, false]),
      ...[...'azäßéω'].map((letter): [string, string, boolean] => ['enforceLowercase', letter, true]),
      ...[...'AZ09Ä_漢'].map((letter): [string, string, boolean] => ['enforceLowercase', letter, false]),
      ...[...'0123456789'].map((letter): [string, string, boolean] => ['enforceDigits', letter, true]),
      ...[...'aZ_½'].map((letter): [string, string, boolean] => ['enforceDigits', letter, false]),
      ['enforceDigits', '', false],
    ];
    t.plan(cases.length);
    for (const [rule, password, fine] of cases) {
      await request(path, { form: { minLength: 0, [rule]: 'true' } });
      t.assert.equal(await isFine(password), fine, `${rule}: ${password}`);
    }
  });

  it('counts characters, not bytes, and allows empty passwords if configured', async () => {
    const { request } = await aManager();
    const put = async (password: string) =>
      (await request('/settings/rbac/users/local/u', { method: 'PUT', form: { password, roles: 'admin' } }))
        .status;
    await request(path, { form: { minLength: 3 } });
    assert.deepEqual([await put('漢字'), await put('漢字😀')], [400, 200]);
    assert.equal(await put(''), 400);
    await request(path, { form: { minLength: 0 } });
    assert.equal(await put(''), 200);
    assert.equal((await request('/pools', { as: 'u:' })).status, 200);
    await request(path, { form: { minLength: 100 } });
    assert.deepEqual([await put('x'.repeat(99)), await put('x'.repeat(100))], [400, 200]);
  });
});
