import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkedPermissions } from './checked-permissions.ts';

/** A clock on which every check of a permission takes a millisecond. */
function slowChecks() {
  let nowMs = 0;
  const turns: (() => void)[] = [];
  const clock = { monotonicMs: () => nowMs, soon: (callback: () => void) => void turns.push(callback) };
  const asked: string[] = [];
  const may = (permission: string): boolean => {
    nowMs++;
    asked.push(permission);
    return permission.endsWith('!read');
  };
  return { clock, turns, asked, may };
}

const many = Array.from({ length: 12 }, (_, index) => `cluster.bucket[b${index}]!read`);

describe('a check of many permissions', () => {
  it('lets other requests run after each five milliseconds', async () => {
    const { clock, turns, asked, may } = slowChecks();
    const checking = checkedPermissions(many, { may, signal: new AbortController().signal }, clock);
    const counts: number[] = [];
    for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
      counts.push(asked.length);
      turn();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(counts, [5, 10]);
    assert.equal(Object.keys(await checking).length, 12);
  });

  it('checks a repeated permission once', async () => {
    const { clock, asked, may } = slowChecks();
    const signal = new AbortController().signal;
    const repeated = ['cluster!read', 'cluster!write', 'cluster!read'];
    assert.deepEqual(await checkedPermissions(repeated, { may, signal }, clock), {
      'cluster!read': true,
      'cluster!write': false,
    });
    assert.deepEqual(asked, ['cluster!read', 'cluster!write']);
  });

  it('ends when the client has disconnected', async () => {
    const { clock, turns, asked, may } = slowChecks();
    const client = new AbortController();
    const checking = checkedPermissions(many, { may, signal: client.signal }, clock);
    client.abort(new Error('the client disconnected'));
    turns.shift()?.();
    await assert.rejects(checking, /the client disconnected/);
    assert.equal(asked.length, 5);
  });
});
