// A client of change streams for tests: requests streams, applies their changes to a copy of the bucket, and checks
// every message by the rules of the protocol.
import assert from 'node:assert/strict';
import type { RequestParts } from '#wire/output.ts';
import type { KvConnection, Reply } from './kv-connection.ts';
import { Opcode } from './opcodes.ts';

export interface Change {
  kind: 'mutation' | 'deletion' | 'expiration';
  vb: number;
  seqno: number;
  rev: number;
  cas: bigint;
  datatype: number;
  /** Begins with the collection id if the connection supports collections. */
  key: string;
  value: Buffer;
  extras: Buffer;
}

/** A system event of a scope or collection. */
export interface SystemEvent {
  vb: number;
  seqno: number;
  kind: number;
  version: number;
  key: string;
  value: Buffer;
}

export interface Copy {
  documents: Map<string, Change>;
  uuid: bigint;
  /** The seqno up to which the copy is complete. */
  position: number;
  snapStart: number;
  snapEnd: number;
  endReason: number | null;
  /** Called at the end of each snapshot. */
  onSnapshotEnd: ((copy: Copy) => void) | null;
}

export interface StreamOptions {
  start?: number;
  end?: number;
  uuid?: bigint;
  snapStart?: number;
  snapEnd?: number;
  flags?: number;
  value?: unknown;
  framing?: Buffer;
}

/** As published: see opcodes.ts. */
const opcodes = { mutation: 0x57, deletion: 0x58, expiration: 0x59 } as const;
const [streamEnd, snapshotMarker, noop, systemEvent, seqnoAdvanced] = [0x55, 0x56, 0x5c, 0x5f, 0x64];
/** Flags of DCP_OPEN: the server sends the streams, with xattrs and the times of deletions. */
const [producer, includeXattrs, includeDeleteTimes] = [0x01, 0x04, 0x20];
/** The magic byte of responses. */
const response = 0x81;

export class DcpClient {
  readonly connection: KvConnection;
  readonly copies = new Map<number, Copy>();
  readonly changes: Change[] = [];
  readonly events: SystemEvent[] = [];
  /** Every message's opcode, in order. */
  readonly opcodes: number[] = [];
  readonly markers: Reply[] = [];
  /** Bytes of messages since the last acknowledgement. */
  unacked = 0;
  /** Acknowledge after this many bytes; 0 never does. */
  ackBytes = 0;
  answersNoops = true;
  private opaque = 100;

  constructor(connection: KvConnection) {
    this.connection = connection;
  }

  async open(
    name = 'test',
    flags = producer | includeXattrs | includeDeleteTimes,
    controls: Record<string, string> = {},
  ): Promise<this> {
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(flags, 4);
    assert.equal(
      (await this.ask({ opcode: Opcode.dcpOpen, extras, key: Buffer.from(name) })).status,
      0,
      'open',
    );
    for (const [key, value] of Object.entries(controls))
      assert.equal((await this.control(key, value)).status, 0, key);
    return this;
  }

  async control(name: string, value: string): Promise<Reply> {
    return await this.ask({ opcode: Opcode.dcpControl, key: Buffer.from(name), value: Buffer.from(value) });
  }

  /** Requests a stream, by default from the position of the copy of this vbucket. */
  async stream(vb: number, ask: StreamOptions = {}): Promise<Reply> {
    const copy = this.copyOf(vb);
    const reply = await this.ask(streamRequest(vb, copy, ask));
    if (reply.status === 0) opened(copy, reply, ask);
    return reply;
  }

  /** Requests the streams of many vbuckets at once: a round trip for each takes several times as much processor time. */
  async streamMany(vbs: readonly number[]): Promise<void> {
    const requested = new Map(vbs.map((vb) => [++this.opaque, vb]));
    this.connection.send(
      ...[...requested].map(([opaque, vb]) => ({ ...streamRequest(vb, this.copyOf(vb), {}), opaque })),
    );
    while (requested.size > 0) {
      const reply = await this.connection.next();
      assert.ok(reply, 'the connection was closed instead of a reply');
      const vb = reply.magic === response ? requested.get(reply.opaque) : undefined;
      if (vb === undefined) {
        this.receive(reply);
        continue;
      }
      assert.equal(reply.status, 0, `the stream of vbucket ${vb}`);
      requested.delete(reply.opaque);
      opened(this.copyOf(vb), reply);
    }
  }

  copyOf(vb: number): Copy {
    let copy = this.copies.get(vb);
    if (!copy) {
      const [position, snapStart, snapEnd] = [0, 0, 0];
      copy = {
        documents: new Map(),
        uuid: 0n,
        position,
        snapStart,
        snapEnd,
        endReason: null,
        onSnapshotEnd: null,
      };
      this.copies.set(vb, copy);
    }
    return copy;
  }

  /** Takes over the copies of another connection's client. */
  resume(other: DcpClient): this {
    for (const [vb, copy] of other.copies) this.copies.set(vb, copy);
    return this;
  }

  /** Sends a request and reads up to its reply; messages in between are applied. */
  async ask(request: RequestParts): Promise<Reply> {
    const opaque = ++this.opaque;
    this.connection.send({ ...request, opaque });
    for (;;) {
      const reply = await this.connection.next();
      assert.ok(reply, 'the connection was closed instead of a reply');
      if (reply.magic === response && reply.opaque === opaque) return reply;
      this.receive(reply);
    }
  }

  /** Reads messages until `isDone`. */
  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const message = await this.connection.next();
      assert.ok(message, 'the connection was closed');
      this.receive(message);
    }
  }

  /** Reads until the copies of these vbuckets have reached these seqnos at the end of a snapshot. */
  async reach(ends: readonly (readonly [vb: number, seqno: number])[]): Promise<void> {
    const isReached = ([vb, seqno]: readonly [vb: number, seqno: number]): boolean => {
      const { position, snapEnd } = this.copyOf(vb);
      return position >= seqno && position >= snapEnd;
    };
    // Checked in order, so that a message is not followed by checks of all vbuckets.
    let reached = 0;
    await this.until(() => {
      while (reached < ends.length && isReached(ends[reached] as readonly [number, number])) reached++;
      return reached === ends.length && ends.every(isReached);
    });
  }

  acknowledge(): void {
    const extras = Buffer.alloc(4);
    extras.writeUInt32BE(this.unacked);
    this.unacked = 0;
    this.connection.send({ opcode: Opcode.dcpBufferAck, extras });
  }

  private receive(message: Reply): void {
    this.opcodes.push(message.opcode);
    if (message.opcode === noop) {
      if (this.answersNoops)
        this.connection.send({ magic: response, opcode: message.opcode, opaque: message.opaque });
      return;
    }
    const { framing, extras, key, value } = message;
    this.unacked += 24 + framing.length + extras.length + key.length + value.length;
    if (this.ackBytes > 0 && this.unacked >= this.ackBytes) this.acknowledge();
    this.apply(message);
  }

  private apply(message: Reply): void {
    const { opcode, extras, status: vb } = message;
    const copy = this.copyOf(vb);
    assert.equal(copy.endReason, null, 'a message after the end of its stream');
    if (opcode === streamEnd) copy.endReason = extras.readUInt32BE(0);
    else if (opcode === snapshotMarker) this.mark(message, copy);
    else if (opcode === systemEvent) this.event(message, copy);
    else if (opcode === seqnoAdvanced) advance(copy, Number(extras.readBigUInt64BE(0)));
    else this.change(message, copy);
  }

  private mark(message: Reply, copy: Copy): void {
    this.markers.push(message);
    const fields = message.extras.length === 1 ? message.value : message.extras;
    copy.snapStart = Number(fields.readBigUInt64BE(0));
    copy.snapEnd = Number(fields.readBigUInt64BE(8));
    assert.ok(copy.snapStart <= copy.snapEnd, 'a snapshot that ends before it starts');
    assert.ok(copy.snapEnd > copy.position, 'a snapshot without changes');
    assert.ok(copy.snapStart <= copy.position + 1, 'a snapshot that lacks changes');
  }

  private event({ extras, status: vb, key, value }: Reply, copy: Copy): void {
    const [seqno, kind] = [Number(extras.readBigUInt64BE(0)), extras.readUInt32BE(8)];
    assert.equal(extras.length, 13);
    this.events.push({ vb, seqno, kind, version: extras[12] as number, key: key.toString(), value });
    advance(copy, seqno);
  }

  private change(message: Reply, copy: Copy): void {
    const change = changeOf(message);
    this.changes.push(change);
    advance(copy, change.seqno, () => copy.documents.set(change.key, change));
  }
}

function opened(copy: Copy, reply: Reply, { start }: StreamOptions = {}): void {
  copy.uuid = reply.value.readBigUInt64BE(0);
  copy.endReason = null;
  copy.position = start ?? copy.position;
}

function advance(copy: Copy, seqno: number, apply?: () => void): void {
  assert.ok(seqno > copy.position, `seqno ${seqno} after ${copy.position}`);
  assert.ok(seqno >= copy.snapStart && seqno <= copy.snapEnd, `seqno ${seqno} is outside of its snapshot`);
  copy.position = seqno;
  apply?.();
  if (seqno === copy.snapEnd) copy.onSnapshotEnd?.(copy);
}

function changeOf({ opcode, extras, status: vb, cas, datatype, key, value }: Reply): Change {
  const kind = (Object.keys(opcodes) as (keyof typeof opcodes)[]).find((name) => opcodes[name] === opcode);
  assert.ok(kind, `an unknown message 0x${opcode.toString(16)}`);
  const seqno = Number(extras.readBigUInt64BE(0));
  const rev = Number(extras.readBigUInt64BE(8));
  return { kind, vb, seqno, rev, cas, datatype, key: key.toString('latin1'), value, extras };
}

function streamRequest(vb: number, copy: Copy, ask: StreamOptions): RequestParts {
  const { start = copy.position, uuid = copy.uuid, end } = ask;
  const isWhole = copy.position >= copy.snapEnd;
  const extras = Buffer.alloc(48);
  extras.writeUInt32BE(ask.flags ?? 0, 0);
  extras.writeBigUInt64BE(BigInt(start), 8);
  extras.writeBigUInt64BE(end === undefined ? 2n ** 64n - 1n : BigInt(end), 16);
  extras.writeBigUInt64BE(uuid, 24);
  extras.writeBigUInt64BE(
    BigInt(ask.snapStart ?? ask.start ?? (isWhole ? start : Math.min(copy.snapStart, start))),
    32,
  );
  extras.writeBigUInt64BE(BigInt(ask.snapEnd ?? ask.start ?? (isWhole ? start : copy.snapEnd)), 40);
  const value = ask.value === undefined ? undefined : Buffer.from(JSON.stringify(ask.value));
  return {
    opcode: Opcode.dcpStreamRequest,
    vb,
    extras,
    ...(value ? { value } : {}),
    ...(ask.framing ? { framing: ask.framing } : {}),
  };
}

/** The live documents of the copy: key to value. */
export const liveDocuments = (copy: Copy): Map<string, string> =>
  new Map(
    [...copy.documents.values()]
      .filter(({ kind }) => kind === 'mutation')
      .map(({ key, value }) => [key, value.toString('latin1')]),
  );
