// Reads the rare messages between data services, whose form is text. Each field is checked, because a wrong one would have its effect much later:
// as a promise that lasts too long, or as a position that no copy has. Fields that this version does not know are ignored.

import { promiseMsMax } from '../admin.ts';
import { failoverEntriesMax, failoverEntryBytes } from '../vbucket/failover-logs.ts';
import type { EarlierMessage, TextMessage } from './frames.ts';

/** Returns what is wrong with a value, such as "must be true or false"; null: nothing. */
type Check = (value: unknown) => string | null;
type Fields = Readonly<Record<string, Check>>;

const u16Max = 0xffff;
const u48Max = 2 ** 48 - 1;
/** Ids of nodes and of their processes have 32 characters, uuids of buckets as many. */
const nameLengthMax = 255;
const base64LengthMax = Math.ceil((failoverEntriesMax * failoverEntryBytes) / 3) * 4;

const between = (value: number, min: number, max: number): boolean => value >= min && value <= max;

const integer =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && between(value as number, min, max)
      ? null
      : `must be an integer between ${min} and ${max}`;

const milliseconds =
  (max: number): Check =>
  (value) =>
    typeof value === 'number' && between(value, 0, max) ? null : `must be a number between 0 and ${max}`;

const flag: Check = (value) => (typeof value === 'boolean' ? null : 'must be true or false');

const name: Check = (value) =>
  typeof value === 'string' && between(value.length, 1, nameLengthMax)
    ? null
    : `must be a text of 1 to ${nameLengthMax} characters`;

/** A failover log of whole entries. */
const failoverLog: Check = (value) =>
  typeof value === 'string' &&
  value.length <= base64LengthMax &&
  /^[A-Za-z0-9+/]*={0,2}$/.test(value) &&
  Buffer.byteLength(value, 'base64') % failoverEntryBytes === 0
    ? null
    : `must be a failover log of at most ${failoverEntriesMax} entries in base64`;

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? null : check(value);

const list =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value) || value.length > u16Max + 1) return `must be a list of at most ${u16Max + 1}`;
    for (const [index, entry] of value.entries()) {
      const problem = check(entry);
      if (problem !== null) return `${problem} (entry ${index})`;
    }
    return null;
  };

const record =
  (fields: Fields): Check =>
  (value) => {
    if (!isRecord(value)) return 'must be an object';
    for (const [field, check] of Object.entries(fields)) {
      const problem = check(Object.hasOwn(value, field) ? value[field] : undefined);
      if (problem !== null) return `${field} ${problem}`;
    }
    return null;
  };

const vb = integer(0, u16Max);
const seqno = integer(0, u48Max);
const shard: Fields = { bucket: name, shard: integer(0, u16Max), epoch: integer(0, u48Max) };
const feed = integer(0, Number.MAX_SAFE_INTEGER);
const beat: Fields = {
  sentMs: milliseconds(Number.MAX_SAFE_INTEGER),
  wallMs: milliseconds(Number.MAX_SAFE_INTEGER),
  promiseMs: optional(milliseconds(promiseMsMax)),
  needsPromise: optional(flag),
};
const position: Fields = {
  vb,
  high: seqno,
  persisted: seqno,
  failover: failoverLog,
  snapEnd: optional(seqno),
  purge: optional(seqno),
};
const history: Fields = { vb, high: seqno, failover: failoverLog };
const activeHistory: Fields = { ...history, purge: seqno };
const request = integer(0, Number.MAX_SAFE_INTEGER);
const opened: Fields = {
  ...shard,
  rows: list(record(position)),
  feed: optional(feed),
  bytes: optional(integer(0, Number.MAX_SAFE_INTEGER)),
};
const kinds: Readonly<Record<TextMessage['kind'], Check>> = {
  hello: record({
    node: name,
    boot: name,
    saysPromise: optional(flag),
    countsBoots: optional(flag),
    readsBinary: optional(flag),
    saysContinued: optional(flag),
    rollsBack: optional(flag),
  }),
  beat: record(beat),
  beaten: record(beat),
  ended: record({}),
  continued: record({ bucket: name, boots: list(name), asks: flag }),
  open: record({
    ...shard,
    incarnation: integer(0, Number.MAX_SAFE_INTEGER),
    feed,
    rows: optional(list(record({ ...history, purge: optional(seqno) }))),
  }),
  empty: record({ ...shard, vbs: list(vb) }),
  rollBack: record({ ...shard, rows: list(record(activeHistory)) }),
  wanted: record({ ...shard, vb, request, upTo: seqno }),
  versions: record({ ...shard, vb, request, answered: integer(0, u16Max), newest: seqno, purge: seqno }),
  opened: record(opened),
  refused: record(opened),
  failed: record(opened),
};

/** As version 0.2 sends them: all in text. */
const earlierKinds: Readonly<Record<EarlierMessage['kind'], Check>> = {
  ...kinds,
  open: record({ ...shard, incarnation: integer(0, Number.MAX_SAFE_INTEGER), feed: optional(feed) }),
  batch: record({
    ...shard,
    vb,
    start: seqno,
    to: seqno,
    end: seqno,
    live: flag,
    failover: optional(failoverLog),
  }),
  got: record({
    ...shard,
    vb,
    received: seqno,
    persisted: seqno,
    following: flag,
    bytes: integer(0, Number.MAX_SAFE_INTEGER),
  }),
};

/** @throws Error when the text is no message; it names the field and what would be right. */
export const decodeText = (text: string): TextMessage => decoded<TextMessage>(text, kinds);

/** Decodes a message of version 0.2. @throws Error as `decodeText`. */
export const decodeEarlierText = (text: string): EarlierMessage =>
  decoded<EarlierMessage>(text, earlierKinds);

function decoded<Message extends { kind: string }>(
  text: string,
  checks: Readonly<Record<Message['kind'], Check>>,
): Message {
  const message = parsed(text);
  if (!isRecord(message)) throw new Error('a message must be an object');
  const { kind } = message;
  if (typeof kind !== 'string' || !Object.hasOwn(checks, kind))
    throw new Error(`unknown message ${shortened(JSON.stringify(kind))}`);
  const problem = checks[kind as Message['kind']](message);
  if (problem !== null) throw new Error(`the message "${kind}": ${problem}`);
  return message as unknown as Message;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('a message is not JSON');
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The start of a text from another node, for an error that is logged. */
const shortened = (text: string | undefined): string => (text ?? 'without a kind').slice(0, 40);
