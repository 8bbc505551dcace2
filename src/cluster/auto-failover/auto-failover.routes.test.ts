import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aManager } from '../../../test/support/manager.ts';
import {
  booleanValues,
  checkSettings,
  managerTarget,
  refusals,
} from '../../../test/support/settings-suite.ts';

const notBoolean = (name: string) => `The value of "${name}" must be true or false\n`;
const range = (name: string, min: number, max: number) =>
  `The value of "${name}" must be a positive integer in a range from ${min} to ${max}\n`;
const integerParameter = (name: string, min: number, max: number) =>
  ({
    good: [
      [`${min}`, min],
      [`${max}`, max],
    ],
    bad: [`${min - 1}`, `${max + 1}`, '-5', '5.0', '', 'x'].map(
      (text) => [text, range(name, min, max)] as const,
    ),
  }) as const;
const disk = { enabled: 'failoverOnDataDiskIssues[enabled]', period: 'failoverOnDataDiskIssues[timePeriod]' };
const path = '/settings/autoFailover';

describe('auto-failover settings', () => {
  it('accept the values of their ranges, refuse others, and survive a restart', async (t) => {
    await using target = await managerTarget();
    const base = { enabled: 'true', timeout: '120' };
    await checkSettings(t, target, {
      write: path,
      read: path,
      base,
      refusal: refusals.text,
      parameters: [
        {
          name: 'enabled',
          ...booleanValues(notBoolean('enabled')),
          missing: { text: notBoolean('enabled') },
        },
        {
          name: 'timeout',
          ...integerParameter('timeout', 5, 3600),
          missing: { text: range('timeout', 5, 3600) },
        },
        { name: 'maxCount', ...integerParameter('maxCount', 1, 100), missing: { reads: 100 } },
        {
          name: 'canAbortRebalance',
          ...booleanValues(notBoolean('canAbortRebalance')),
          missing: { reads: false },
        },
        {
          name: disk.enabled,
          ...booleanValues(notBoolean(disk.enabled)),
          missing: { text: notBoolean(disk.enabled) },
          with: { [disk.period]: '5' },
        },
        {
          name: disk.period,
          ...integerParameter(disk.period, 5, 3600),
          missing: { text: range(disk.period, 5, 3600) },
          with: { [disk.enabled]: 'true' },
        },
      ],
    });
  });

  it('have fewer parameters and a higher minimum timeout in the community edition', async (t) => {
    await using target = await managerTarget({ edition: 'community' });
    await checkSettings(t, target, {
      write: path,
      read: path,
      base: { enabled: 'true' },
      refusal: refusals.text,
      parameters: [
        {
          name: 'timeout',
          ...integerParameter('timeout', 30, 3600),
          missing: { text: range('timeout', 30, 3600) },
        },
      ],
    });
    const { body } = await target.send('GET', path);
    assert.deepEqual(body, { enabled: true, timeout: 3600, count: 0 });
  });

  it('have the published defaults on a new node; disabling auto-failover also disables the settings that depend on it', async (t) => {
    const { request, manager } = await aManager();
    t.after(() => manager.stop());
    const defaults = {
      enabled: true,
      timeout: 120,
      count: 0,
      maxCount: 1,
      canAbortRebalance: true,
      failoverOnDataDiskIssues: { enabled: false, timePeriod: 120 },
    };
    assert.deepEqual((await request(path)).body, defaults);
    const on = { enabled: 'true', timeout: '99', canAbortRebalance: 'true' };
    const withDisk = { ...on, [disk.enabled]: 'true', [disk.period]: '60' };
    assert.equal((await request(path, { form: withDisk })).status, 200);
    const off = await request(path, { form: { enabled: 'false', timeout: 'x', maxCount: '3' } });
    assert.deepEqual([off.status, off.text], [200, '']);
    assert.deepEqual((await request(path)).body, {
      ...defaults,
      enabled: false,
      timeout: 99,
      canAbortRebalance: false,
      failoverOnDataDiskIssues: { enabled: false, timePeriod: 60 },
    });
    assert.deepEqual([(await request(`${path}/resetCount`, { method: 'POST' })).status], [200]);
  });

  it('report problems of a validation by field, and those of a change as lines', async (t) => {
    const { request, manager } = await aManager();
    t.after(() => manager.stop());
    const form = { enabled: 'true', timeout: '4', maxCount: '0' };
    const validated = await request(`${path}?just_validate=1`, { form });
    assert.equal(validated.status, 400);
    assert.deepEqual(Object.keys(validated.body.errors), ['timeout', 'maxCount']);
    assert.equal((await request(path, { form })).text, range('timeout', 5, 3600) + range('maxCount', 1, 100));
    const right = await request(`${path}?just_validate=1`, { form: { enabled: 'false' } });
    assert.deepEqual([right.status, right.body], [200, { errors: null }]);
    assert.equal((await request(path)).body.enabled, true);
  });
});

describe('auto-reprovision and failover settings', () => {
  it('are kept over restarts', async (t) => {
    await using target = await managerTarget();
    const wrong = 'The value of "maxNodes" must be a positive integer\n';
    const intMax = 2 ** 31 - 1;
    const write = '/settings/autoReprovision';
    await checkSettings(t, target, {
      write,
      read: write,
      base: { enabled: 'true', maxNodes: '1' },
      refusal: refusals.text,
      parameters: [
        {
          name: 'enabled',
          ...booleanValues(notBoolean('enabled')),
          missing: { text: notBoolean('enabled') },
        },
        {
          name: 'maxNodes',
          good: [
            ['1', 1],
            [`${intMax}`, intMax],
          ],
          bad: ['0', `${intMax + 1}`, '-1', '1.0', ''].map((text) => [text, wrong] as const),
          missing: { text: wrong },
          find: (answer: { max_nodes: number }) => answer.max_nodes,
        },
      ],
    });
    assert.equal((await target.send('POST', `${write}/resetCount`)).status, 200);
    const oneOf = 'The value must be one of the following: [true,false]';
    await checkSettings(t, target, {
      write: '/settings/failover',
      read: '/settings/failover',
      refusal: refusals.fields,
      parameters: [
        {
          name: 'preserveDurableMutations',
          good: [
            ['false', false],
            ['true', true],
          ],
          bad: [
            ['', oneOf],
            ['1', oneOf],
          ],
          missing: { text: 'Request should have parameters', key: '_' },
        },
      ],
    });
  });
});
