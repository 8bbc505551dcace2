// Frames that version 0.2.0 wrote, and connections to its nodes.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { aPeer, RecordingLink } from '../../../test/support/peer-connections.ts';
import { earlierForm, isEarlierFrame } from './earlier-frames.ts';
import { encodeFrame } from './frame-writer.ts';
import { lengthBytes, type PeerMessage } from './frames.ts';
import { positionsIn, rowsOf } from './position-rows.ts';

const shard = { bucket: 'b', shard: 3, epoch: 7 };
const history = Buffer.alloc(16, 1);
const got = { shard: 3, epoch: 7, vb: 3, received: 11, persisted: 9, following: true };
const batch = { kind: 'batch', ...shard, vb: 3, start: 10, to: 11, end: 12, live: true } as const;

/** Messages, each with the frame that 0.2.0 wrote for it, in base64. */
const recorded: readonly (readonly [PeerMessage, string])[] = [
  [
    { kind: 'hello', node: 'a', boot: 'a 1', saysPromise: true },
    'AAAAPQA7eyJraW5kIjoiaGVsbG8iLCJub2RlIjoiYSIsImJvb3QiOiJhIDEiLCJzYXlzUHJvbWlzZSI6dHJ1ZX0=',
  ],
  [{ kind: 'beat', sentMs: 5, wallMs: 6 }, 'AAAAJwAleyJraW5kIjoiYmVhdCIsInNlbnRNcyI6NSwid2FsbE1zIjo2fQ=='],
  [
    { kind: 'open', ...shard, incarnation: 1, feed: 0 },
    'AAAAQgBAeyJraW5kIjoib3BlbiIsImJ1Y2tldCI6ImIiLCJzaGFyZCI6MywiZXBvY2giOjcsImluY2FybmF0aW9uIjoxfQ==',
  ],
  [
    {
      kind: 'opened',
      ...shard,
      rows: [{ vb: 3, high: 9, persisted: 8, failover: history.toString('base64') }],
    },
    'AAAAgwCBeyJraW5kIjoib3BlbmVkIiwiYnVja2V0IjoiYiIsInNoYXJkIjozLCJlcG9jaCI6Nywicm93cyI6W3sidmIiOjMsImhpZ2giOjksInBlcnNpc3RlZCI6OCwiZmFpbG92ZXIiOiJBUUVCQVFFQkFRRUJBUUVCQVFFQkFRPT0ifV19',
  ],
  [
    { ...batch, isAwaited: true, awaitsDisk: false, failover: history },
    'AAAAiwCGeyJraW5kIjoiYmF0Y2giLCJidWNrZXQiOiJiIiwic2hhcmQiOjMsImVwb2NoIjo3LCJ2YiI6Mywic3RhcnQiOjEwLCJ0byI6MTEsImVuZCI6MTIsImxpdmUiOnRydWUsImZhaWxvdmVyIjoiQVFFQkFRRUJBUUVCQVFFQkFRRUJBUT09In1jdXQ=',
  ],
  [
    { kind: 'got', bucket: 'b', bytes: 100, rows: rowsOf([got]) },
    'AAAAcQBveyJraW5kIjoiZ290IiwiYnVja2V0IjoiYiIsInNoYXJkIjozLCJlcG9jaCI6NywidmIiOjMsInJlY2VpdmVkIjoxMSwicGVyc2lzdGVkIjo5LCJmb2xsb3dpbmciOnRydWUsImJ5dGVzIjoxMDB9',
  ],
];

const bodyOf = ({ kind }: PeerMessage): string => (kind === 'batch' ? 'cut' : '');
const lengthOf = (frames: Buffer, at: number): number => lengthBytes + frames.readUInt32BE(at);

/** The messages of several frames. */
function decoded(frames: Buffer): PeerMessage[] {
  const messages: PeerMessage[] = [];
  for (let at = 0; at < frames.length; at += lengthOf(frames, at))
    messages.push(earlierForm.decode(frames, at, at + lengthOf(frames, at)).message);
  return messages;
}

it('frames of 0.2.0 are read, and frames with the same content written', () => {
  for (const [message, base64] of recorded) {
    const bytes = Buffer.from(base64, 'base64');
    const read = earlierForm.decode(bytes, 0, bytes.length);
    assert.deepEqual(read.message, message);
    assert.equal(read.body.toString(), bodyOf(message));
    const written = earlierForm.encode(message, Buffer.from(bodyOf(message)));
    assert.deepEqual(earlierForm.decode(written, 0, written.length), read);
    assert.equal(isEarlierFrame(bytes, 0), true);
    assert.equal(isEarlierFrame(encodeFrame(message), 0), false);
  }
});

it('the form of 0.2 has one position in each message, confirms every byte once, and omits what 0.2 does not know', () => {
  const rows = [got, { ...got, vb: 67 }];
  assert.deepEqual(
    decoded(earlierForm.encode({ kind: 'got', bucket: 'b', bytes: 100, rows: rowsOf(rows) })),
    [
      { kind: 'got', bucket: 'b', bytes: 100, rows: rowsOf([got]) },
      { kind: 'got', bucket: 'b', bytes: 0, rows: rowsOf([{ ...got, vb: 67 }]) },
    ],
  );
  const [onlyBytes] = decoded(earlierForm.encode({ kind: 'got', bucket: 'b', bytes: 7, rows: rowsOf([]) }));
  assert.ok(onlyBytes?.kind === 'got' && onlyBytes.bytes === 7);
  assert.equal(positionsIn(onlyBytes.rows)[0]?.epoch, 0);
  const failed = { kind: 'failed', ...shard, rows: [], bytes: 9 } as const;
  const [confirmed, message] = decoded(earlierForm.encode(failed));
  assert.ok(confirmed?.kind === 'got' && confirmed.bytes === 9);
  assert.deepEqual(message, failed);
  assert.equal(earlierForm.encode({ kind: 'ended' }).length, 0);
  assert.equal(earlierForm.encode({ kind: 'continued', bucket: 'b', boots: [], asks: true }).length, 0);
});

const hello = { kind: 'hello', node: 'b', boot: 'b 1' } as const;

/** What a node sends and receives on a connection that begins with these two frames. */
async function talk(first: Buffer, next: Buffer) {
  const received: PeerMessage[] = [];
  const peers = aPeer({ received: (_, message) => received.push(message) });
  const link = new RecordingLink();
  peers.accept(link);
  link.handler?.data(first);
  link.handler?.data(next);
  await Promise.resolve();
  peers.send('b', { kind: 'empty', ...shard, vbs: [3] });
  await Promise.resolve();
  peers.close();
  return { sent: link.sent, received, closedFor: link.closedFor };
}

it('a connection begins in the form of 0.2, and continues in the form that the other node reads', async () => {
  const open = { kind: 'open', ...shard, incarnation: 1, feed: 4 } as const;
  for (const [first, form] of [
    [earlierForm.encode(hello), earlierForm],
    [earlierForm.encode({ ...hello, readsBinary: true }), { encode: encodeFrame }],
  ] as const) {
    const { received, sent } = await talk(first, form.encode(open));
    assert.deepEqual(received, [open]);
    const [greeting = Buffer.alloc(0), empty] = sent;
    assert.deepEqual(decoded(greeting), [
      {
        kind: 'hello',
        node: 'a',
        boot: 'a 1',
        saysPromise: true,
        countsBoots: true,
        readsBinary: true,
        saysContinued: true,
        rollsBack: true,
      },
    ]);
    assert.deepEqual(empty, form.encode({ kind: 'empty', ...shard, vbs: [3] }));
  }
});

it('a connection is closed for a malformed frame of 0.2, with the reason', async () => {
  const cases: readonly (readonly [Buffer, string])[] = [
    [Buffer.from([0, 0, 0, 1, 0]), 'a frame is too short for its header'],
    [Buffer.from([0, 0, 0, 2, 0, 9]), 'the header of a frame runs over its end'],
    [Buffer.from([0, 0, 0, 3, 0, 1, 0x7b]), 'a message is not JSON'],
    [
      earlierForm.encode({ ...batch, isAwaited: true, awaitsDisk: false, vb: 70_000 }),
      'the message "batch": vb must be an integer between 0 and 65535',
    ],
  ];
  for (const [frame, reason] of cases)
    assert.equal((await talk(earlierForm.encode(hello), frame)).closedFor, reason);
});
