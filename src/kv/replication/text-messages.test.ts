// Messages of a node that is faulty, or does not keep to the protocol: each is refused with the field and what would be right.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { printedSeed } from '../../../test/support/seed.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { encodeFrame } from './frame-writer.ts';
import { FrameForm, lengthBytes, type TextMessage } from './frames.ts';
import { decodeText } from './text-messages.ts';

const bucket = '0123456789abcdef0123456789abcdef';
const shard = { bucket, shard: 63, epoch: 2 ** 48 - 1 };
const failoverEntryBytes = 16;
const failover = Buffer.alloc(25 * failoverEntryBytes, 7).toString('base64');
const row = { vb: 1023, high: 2 ** 43, persisted: 0, failover };
const beat = { sentMs: 12.5, wallMs: 1_700_000_000_000 };

const valid: readonly TextMessage[] = [
  { kind: 'hello', node: 'a', boot: 'a 1' },
  { kind: 'hello', node: 'a', boot: 'a 1', saysPromise: true },
  { kind: 'beat', ...beat, needsPromise: false },
  { kind: 'beaten', ...beat, promiseMs: 10_000 },
  { kind: 'ended' },
  { kind: 'continued', bucket: 'b', boots: ['a 1'], asks: true },
  { kind: 'open', ...shard, incarnation: 1, feed: 1 },
  { kind: 'open', ...shard, incarnation: 1, feed: 1, rows: [{ vb: 1, high: 2, failover: '' }] },
  { kind: 'open', ...shard, incarnation: 1, feed: 1, rows: [{ vb: 1, high: 2, failover: '', purge: 1 }] },
  { kind: 'empty', ...shard, vbs: [0, 65_535] },
  { kind: 'rollBack', ...shard, rows: [{ vb: 1023, high: 2 ** 43, purge: 0, failover }] },
  { kind: 'wanted', ...shard, vb: 5, request: 1, upTo: 7 },
  { kind: 'versions', ...shard, vb: 5, request: 1, answered: 0, newest: 8, purge: 0 },
  { kind: 'opened', ...shard, rows: [row, { ...row, failover: '', snapEnd: 3 }], feed: 3, bytes: 0 },
  { kind: 'refused', ...shard, rows: [] },
  { kind: 'failed', ...shard, rows: [], bytes: 2 ** 40 },
];

const messageOf = (kind: TextMessage['kind']): object =>
  valid.findLast((message) => message.kind === kind) ?? assert.fail(kind);

/** Messages that differ from a valid one in these fields, and the refusal. */
const hostile: readonly (readonly [TextMessage['kind'], object, string])[] = [
  ['hello', { node: undefined }, 'node must be a text of 1 to 255 characters'],
  ['hello', { node: 5 }, 'node must be a text of 1 to 255 characters'],
  ['hello', { boot: '' }, 'boot must be a text of 1 to 255 characters'],
  ['hello', { boot: 'x'.repeat(256) }, 'boot must be a text of 1 to 255 characters'],
  ['hello', { saysPromise: 'yes' }, 'saysPromise must be true or false'],
  ['beat', { sentMs: null }, `sentMs must be a number between 0 and ${Number.MAX_SAFE_INTEGER}`],
  ['beat', { wallMs: -1 }, `wallMs must be a number between 0 and ${Number.MAX_SAFE_INTEGER}`],
  ['beat', { needsPromise: 0 }, 'needsPromise must be true or false'],
  ['beaten', { promiseMs: 10_001 }, 'promiseMs must be a number between 0 and 10000'],
  ['beaten', { promiseMs: -1 }, 'promiseMs must be a number between 0 and 10000'],
  ['open', { bucket: ['b'] }, 'bucket must be a text of 1 to 255 characters'],
  ['open', { shard: 65_536 }, 'shard must be an integer between 0 and 65535'],
  ['open', { epoch: 1.5 }, `epoch must be an integer between 0 and ${2 ** 48 - 1}`],
  ['open', { epoch: 2 ** 48 }, `epoch must be an integer between 0 and ${2 ** 48 - 1}`],
  ['open', { incarnation: '1' }, `incarnation must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`],
  [
    'open',
    { rows: [{ vb: 1, high: 2, failover: 'AA==' }] },
    'rows failover must be a failover log of at most 25 entries in base64 (entry 0)',
  ],
  ['open', { feed: -1 }, `feed must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`],
  ['empty', { vbs: 3 }, 'vbs must be a list of at most 65536'],
  ['empty', { vbs: [1, '2'] }, 'vbs must be an integer between 0 and 65535 (entry 1)'],
  ['empty', { vbs: new Array(65_537).fill(0) }, 'vbs must be a list of at most 65536'],
  ['opened', { rows: undefined }, 'rows must be a list of at most 65536'],
  ['opened', { rows: [null] }, 'rows must be an object (entry 0)'],
  ['opened', { rows: [row, { ...row, vb: -1 }] }, 'rows vb must be an integer between 0 and 65535 (entry 1)'],
  [
    'opened',
    { rows: [{ ...row, high: -1 }] },
    `rows high must be an integer between 0 and ${2 ** 48 - 1} (entry 0)`,
  ],
  [
    'opened',
    { rows: [{ ...row, persisted: '0' }] },
    `rows persisted must be an integer between 0 and ${2 ** 48 - 1} (entry 0)`,
  ],
  ...['!', 'AAAA', Buffer.alloc(26 * failoverEntryBytes).toString('base64'), 7, null].map(
    (log) =>
      [
        'opened',
        { rows: [{ ...row, failover: log }] },
        'rows failover must be a failover log of at most 25 entries in base64 (entry 0)',
      ] as const,
  ),
  [
    'opened',
    { rows: [{ ...row, snapEnd: -1 }] },
    `rows snapEnd must be an integer between 0 and ${2 ** 48 - 1} (entry 0)`,
  ],
  [
    'rollBack',
    { rows: [{ ...row }] },
    `rows purge must be an integer between 0 and ${2 ** 48 - 1} (entry 0)`,
  ],
  ['wanted', { upTo: -1 }, `upTo must be an integer between 0 and ${2 ** 48 - 1}`],
  ['versions', { answered: 65_536 }, 'answered must be an integer between 0 and 65535'],
  ['failed', { bytes: -1 }, `bytes must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`],
  ['refused', { feed: 'last' }, `feed must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`],
];

describe('text messages between nodes', () => {
  it('are accepted where each field is valid, also with fields that only a later version knows', () => {
    for (const message of valid) {
      assert.deepEqual(decodeText(JSON.stringify(message)), message);
      const later = { ...message, later: { field: 1 } };
      assert.deepEqual(decodeText(JSON.stringify(later)), later);
    }
  });

  it('are refused by the field that is wrong', () => {
    for (const [kind, changes, problem] of hostile) {
      const text = JSON.stringify({ ...messageOf(kind), ...changes });
      assert.throws(
        () => decodeText(text),
        { message: `the message "${kind}": ${problem}` },
        text.slice(0, 200),
      );
    }
  });

  it('are refused if they lack a field that is not optional, also if their prototype has it', () => {
    const optional = [
      'saysPromise',
      'promiseMs',
      'needsPromise',
      'feed of opened',
      'feed of failed',
      'rows of open',
      'bytes',
    ];
    for (const message of valid)
      for (const field of Object.keys(message)) {
        if (optional.includes(field) || optional.includes(`${field} of ${message.kind}`)) continue;
        const { [field]: _, ...rest } = message as unknown as Record<string, unknown>;
        assert.throws(() => decodeText(JSON.stringify(rest)), Error, `${message.kind} without ${field}`);
      }
  });

  it('are refused if their text is not a message', () => {
    const texts = [
      '',
      '{',
      'null',
      '[]',
      '5',
      '"hello"',
      '{}',
      '{"kind":"toString"}',
      '{"kind":["hello"]}',
      '{"kind":"batch"}',
    ];
    for (const text of texts) assert.throws(() => decodeText(text), /message/, text);
    const long = JSON.stringify({ kind: 'x'.repeat(1_000_000) });
    assert.throws(
      () => decodeText(long),
      (error: Error) => error.message.length < 100,
    );
  });

  it('are read or refused, whatever bytes a frame has, and cause no other error', (t) => {
    const seed = printedSeed(t);
    const decoder = new FrameDecoder();
    const frames = valid.map((message) => encodeFrame(message));
    const read = (frame: Buffer): void => {
      try {
        const { message } = decoder.decode(frame);
        if (frame[lengthBytes] === FrameForm.text) assert.equal(typeof message.kind, 'string');
      } catch (error) {
        assert.equal((error as Error).constructor, Error, String((error as Error).stack));
      }
    };
    const changed = fc.tuple(
      fc.constantFrom(...frames),
      fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      fc.nat(2_000),
    );
    const values = fc.record(
      {
        kind: fc.constantFrom(...valid.map(({ kind }) => kind)),
        sentMs: fc.jsonValue(),
        rows: fc.jsonValue(),
      },
      { requiredKeys: ['kind'] },
    );
    fc.assert(
      fc.property(
        changed,
        values,
        fc.uint8Array({ maxLength: 200 }),
        ([frame, bytes, end], fields, random) => {
          const damaged = Buffer.from(frame);
          for (const [at, byte] of bytes)
            damaged[lengthBytes + 1 + (at % (damaged.length - lengthBytes - 1))] = byte;
          read(damaged);
          read(frame.subarray(0, lengthBytes + 1 + end));
          read(encodeFrame(fields as unknown as TextMessage));
          for (const form of [...Object.values(FrameForm), 0])
            read(Buffer.concat([Buffer.alloc(lengthBytes), Buffer.from([form]), random]));
        },
      ),
      { seed, numRuns: 300 },
    );
  });
});
