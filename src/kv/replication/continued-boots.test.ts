// What a process knows of the memory of the other members of an in-sync set.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ContinuedBoots } from './continued-boots.ts';
import type { PeerMessage } from './frames.ts';

it('a connected process that has not said which processes it continues is unknown, unless its version never says that', () => {
  const sent: PeerMessage[] = [];
  const boots = new Map<string, string>();
  const nodesThatSay = new Set(['b']);
  const peers = {
    bootOf: (node: string) => boots.get(node) ?? null,
    connected: () => [...boots.keys()],
    saysContinued: (node: string) => nodesThatSay.has(node),
    send: (_: string, message: PeerMessage) => void sent.push(message),
  };
  const continued = new ContinuedBoots({ uuid: 'bucket', own: ['a 1'], peers });
  const state = (node: string, boot: string): string => continued.stateOf({ node, boot });
  assert.equal(state('b', 'b 1'), 'unknown', 'a process that is not connected is not unknown');
  boots.set('b', 'b 3').set('old', 'old 2');
  continued.connected('b');
  continued.connected('old');
  const own = { kind: 'continued', bucket: 'bucket', boots: ['a 1'] } as const;
  assert.deepEqual(sent.splice(0), [{ ...own, asks: true }]);
  assert.deepEqual([state('b', 'b 3'), state('b', 'b 1')], ['complete', 'unknown']);
  assert.deepEqual([state('old', 'old 2'), state('old', 'old 1')], ['complete', 'restarted']);
  continued.received('b', { ...own, boots: ['b 2', 'b 1'], asks: true });
  assert.deepEqual(sent.splice(0), [{ ...own, asks: false }]);
  assert.deepEqual(
    ['b 3', 'b 2', 'b 1', 'b 0'].map((boot) => state('b', boot)),
    ['complete', 'complete', 'complete', 'restarted'],
  );
  boots.set('b', 'b 4');
  continued.disconnected('b');
  assert.equal(state('b', 'b 1'), 'unknown', 'another process connected');
  continued.received('b', { ...own, boots: [], asks: false });
  assert.deepEqual([state('b', 'b 1'), sent], ['restarted', []]);
});
