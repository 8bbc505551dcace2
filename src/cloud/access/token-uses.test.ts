import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCloud } from '../../../test/support/a-cloud.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { TokenUses } from './token-uses.ts';
import { TokenStore } from './tokens.store.ts';

test('uses of tokens are written together ten seconds after the first, those of one token at most once a minute, and unwritten ones at the stop', async (t) => {
  const clock = new ManualClock();
  const parts = await aCloud({ clock });
  t.after(() => parts.cloud.stop());
  const tokens = new TokenStore(parts);
  const uses = new TokenUses({ ...parts, tokens });
  const wanted = { role: 'reader', projectId: null, origin: 'test', expiresAt: null } as const;
  const issued = [await tokens.issue(wanted), await tokens.issue(wanted)];
  const rows = async () => (await tokens.list()).filter(({ origin }) => origin === 'test');
  const storedUseTimes = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return (await rows()).map(({ last_used_at }) => last_used_at);
  };
  const note = async () => {
    for (const row of await rows()) uses.note(row);
  };
  assert.equal(issued.length, (await rows()).length);
  const beginMs = clock.wallMs();
  const untouched = parts.state.read();
  await note();
  clock.advance(9_999);
  assert.deepEqual(await storedUseTimes(), [null, null]);
  assert.equal(parts.state.read(), untouched);
  clock.advance(1);
  assert.deepEqual(await storedUseTimes(), [beginMs, beginMs]);
  clock.advance(49_999);
  await note();
  clock.advance(10_000);
  assert.deepEqual(await storedUseTimes(), [beginMs, beginMs]);
  await note();
  const endMs = clock.wallMs();
  await uses.stop();
  assert.deepEqual(await storedUseTimes(), [endMs, endMs]);
});
