// Reads of the events of all nodes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import type { EventName } from './event-kinds.ts';
import type { EventQuery, EventRecord } from './event-log.ts';
import { NodesEvents, type WantedEvents } from './nodes-events.ts';

const event = (atMs: number, name: string = 'node_started'): EventRecord => ({
  atMs,
  uuid: `event-${atMs}`,
  name: name as EventName,
  otpNode: 'ns_1@one',
  hostname: 'one',
  attributes: {},
});

type Ask = (nodeId: string, name: string, wanted: WantedEvents) => Promise<unknown>;

function aReader(own: EventRecord[], ask: Ask) {
  const answers = new Map<string, (wanted: WantedEvents) => Promise<EventRecord[]>>();
  const read = async ({ sinceMs = 0, limit, isVisible }: EventQuery) =>
    own.filter((record) => record.atMs >= sinceMs && isVisible(record)).slice(0, limit);
  const reader = new NodesEvents({
    events: { read },
    peers: {
      ask: ask as never,
      answer: (name, answer) => void answers.set(name, answer as never),
    },
    nodes: () => ['one', 'two', 'three'].map((id) => nodeNamed(id)),
    nodeId: 'one',
  });
  return { reader, answers };
}

const timesOf = (records: EventRecord[]) => records.map(({ atMs }) => atMs);

test('the event list merges the events of all nodes by time, within the limit', async () => {
  const asked: unknown[] = [];
  const { reader } = aReader([event(10), event(40)], async (...request) => {
    asked.push(request.slice(0, 3));
    return request[0] === 'two' ? [event(20), event(30)] : [];
  });
  const wanted = { sinceMs: undefined, limit: 3, seesAll: true };
  assert.deepEqual(timesOf(await reader.read(wanted)), [20, 30, 40]);
  assert.deepEqual(timesOf(await reader.read({ ...wanted, sinceMs: 5 })), [10, 20, 30]);
  assert.deepEqual(asked.slice(0, 2), [
    ['two', 'events', wanted],
    ['three', 'events', wanted],
  ]);
});

test('the event list has the newest events of a node whose clock was set back', async () => {
  const own = [event(100), event(200), event(50)];
  const { reader } = aReader(own, async (nodeId) => (nodeId === 'two' ? [event(60)] : []));
  assert.deepEqual(
    timesOf(await reader.read({ sinceMs: undefined, limit: 3, seesAll: true })),
    [200, 50, 60],
  );
});

test('the event list leaves out nodes that do not answer, and events that this version does not know', async () => {
  const { reader } = aReader([event(10)], async (nodeId) => {
    if (nodeId === 'three') throw new Error('no answer in 2000 ms');
    return [event(20, 'of_a_later_version'), event(30)];
  });
  const found = await reader.read({ sinceMs: undefined, limit: 10, seesAll: true });
  assert.deepEqual(timesOf(found), [10, 30]);
});

test('a node returns confidential events to another node only when the caller there may see them', async () => {
  const { answers } = aReader([event(10, 'login_failed'), event(20)], async () => []);
  const answer = answers.get('events') ?? assert.fail('events are not answered');
  const wanted = { sinceMs: undefined, limit: 10 };
  assert.deepEqual(timesOf(await answer({ ...wanted, seesAll: false })), [20]);
  assert.deepEqual(timesOf(await answer({ ...wanted, seesAll: true })), [10, 20]);
});
