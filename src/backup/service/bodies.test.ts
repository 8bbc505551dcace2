// Bodies of requests with random values in place of fields: each is accepted, or refused with a text that names what is wrong.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { AppError } from '#contract/errors.ts';
import { aSeed, type Json, randomBytes, randomJson } from '../../../test/support/random.ts';
import { BodyError, bodyField } from './body-fields.ts';
import { readPlan } from './plans.ts';
import { bodyOf } from './read-body.ts';
import { readRestore } from './restore-body.ts';

const task = {
  name: 't',
  task_type: 'BACKUP',
  full_backup: true,
  options: null,
  schedule: { job_type: 'BACKUP', frequency: 1, period: 'DAYS', time: '22:00' },
};
const merge = {
  name: 'm',
  task_type: 'MERGE',
  merge_options: { offset_start: 0, offset_end: 2 },
  schedule: { job_type: 'MERGE', frequency: 1, period: 'SUNDAY' },
};
const settings = { history_rotation_period: bodyField.integer(1, 365) };

const forms: Record<string, { good: Json; read(body: Buffer): unknown }> = {
  'a plan': {
    good: { name: 'p', description: 'd', services: ['data', 'gsi'], default: false, tasks: [task, merge] },
    read: (body) => readPlan(body, 'p'),
  },
  'a restore': {
    good: {
      target: 'https://[::1]:18091',
      user: 'u',
      password: 'p',
      start: 'a',
      end: 'b',
      include_data: 'a.b',
      exclude_data: 'c',
      map_data: 'a=b',
      filter_keys: 'x',
      filter_values: 'y',
      force_updates: true,
      auto_create_buckets: false,
      disable_data: false,
      replace_ttl: 'all',
      replace_ttl_with: '2090-01-01T00:00:00Z',
    },
    read: readRestore,
  },
  'the settings': { good: { history_rotation_period: 30 }, read: (body) => bodyOf(body, settings) },
};

/** A copy with one value, anywhere in it, replaced or added. */
function changed(good: Json, random: (below: number) => number): Json {
  const copy = structuredClone(good) as Record<string, Json>;
  let at = copy;
  for (;;) {
    const names = [...Object.keys(at), 'another'];
    const name = names[random(names.length)] as string;
    const inner = at[name];
    const isInner = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
    if (isInner && random(3) > 0) at = inner as Record<string, Json>;
    else {
      at[name] = randomJson(random, 3);
      return copy;
    }
  }
}

/** Whether the body is read; false: it is refused with a reason. */
function isRead(t: TestContext, read: (body: Buffer) => unknown, body: Buffer): boolean {
  try {
    read(body);
    return true;
  } catch (error) {
    assert.ok(
      error instanceof BodyError || error instanceof AppError,
      `${String(error)}: ${body.toString()}`,
    );
    t.assert.ok(error.message.length > 0 && error.message.length < 5_000);
    return false;
  }
}

for (const [form, { good, read }] of Object.entries(forms))
  test(`the body for ${form} is read, or refused with a reason`, (t) => {
    const random = aSeed(t);
    const text = JSON.stringify(good);
    assert.equal(isRead(t, read, Buffer.from(text)), true);
    let refused = 0;
    for (let round = 0; round < 2_000; round++)
      if (!isRead(t, read, Buffer.from(JSON.stringify(changed(good, random))))) refused++;
    assert.ok(refused > 500, `${refused} were refused`);
    for (let end = 0; end < text.length; end++)
      assert.equal(isRead(t, read, Buffer.from(text.slice(0, end))), false, text.slice(0, end));
    for (let round = 0; round < 200; round++) isRead(t, read, randomBytes(random, random(100)));
    assert.equal(isRead(t, read, Buffer.from(`${text}${text}`)), false);
    assert.equal(isRead(t, read, Buffer.from('['.repeat(100_000))), false);
  });

test('an account in the address of a target is refused: the address is shown in the history of tasks', () => {
  const body = Buffer.from(JSON.stringify({ target: 'http://u:secret@node:8091', user: 'u', password: 'p' }));
  assert.throws(() => readRestore(body), { message: /^target: must be the address of a node, such as / });
});
