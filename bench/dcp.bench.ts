// Change streams of a data service in this process, over a local socket: the rate of a backfill from disk, and the lag of a live stream
// behind its writers. The client only counts mutations, and runs on the same processors.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { realKdf } from '#auth/kdf.host.ts';
import { workerDiskEngine } from '#kv/disk/hosts/worker-engine.ts';
import { DataService } from '#kv/host/data-service.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { Message } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { emptyFrame, FrameResult, frameBytesMax, Magic, responseStatus } from '#wire/frame.ts';
import { FrameReader } from '#wire/frame-reader.ts';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired } from '../test/support/data-service.ts';
import { Opcode } from '../test/support/opcodes.ts';

const vbuckets = 1024;
const valueBytes = 100;
/** The SETs of the filling that are sent before a NOOP, whose reply says that all are done. */
const setsPerBatch = 2_000;
const liveSetsPerMs = 50;
/** SETs of one write while the writer is behind its rate. */
const liveSetsAtOnce = 500;
/** The extras of DCP_OPEN: reserved bytes, then flags, of which 1 makes the node the producer. */
const producerExtras = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]);
/** The extras of a stream request: all zero for a start at seqno 0, but the end seqno, for which all ones mean no end. */
const endlessStreamExtras = Buffer.alloc(48).fill(0xff, 16, 24);
/** For work that has no event to wait for: the end of a commit. */
const quietMs = 500;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 2_000 : 500_000;
  const folder = mkdtempSync(join(tmpdir(), 'divan-bench-'));
  const parts = { clock: realClock, random: realRandom, log: silentLog, kdf: realKdf };
  const service = new DataService({ ...parts, disk: workerDiskEngine() });
  const listen = { host: '127.0.0.1', port: 0, tlsPort: 0, version: 'bench', logLevel: 'silent' };
  const { port } = await service.start({ dataDir: folder, ...listen });
  await service.apply(aDesired({ buckets: [aBucket('b', { quotaBytes: 2 ** 31 })] }));
  await fill(port, count);
  while ((await service.report()).buckets[0]?.dirtyItems !== 0) await wait(100);
  await wait(quietMs);
  await backfill(port, count);
  await lag(port, count, smoke ? 0.1 : 5);
  await service.stop();
  rmSync(folder, { recursive: true });
}

/** A client that logs in at once, counts mutations and replies, and fails if a request is refused. */
class BenchClient {
  readonly socket: Socket;
  mutations = 0;
  replies = 0;
  onMutation: ((buffer: Buffer, valueStart: number) => void) | null = null;
  private readonly reader = new FrameReader(frameBytesMax);
  private readonly frame = emptyFrame();

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (chunk: Buffer) => this.receive(chunk));
    const features = Buffer.from([0, Feature.xerror, 0, Feature.collections]);
    this.send({ opcode: Opcode.hello, value: features });
    this.send({
      opcode: Opcode.saslAuth,
      key: Buffer.from('PLAIN'),
      value: Buffer.from('\0admin\0password'),
    });
    this.send({ opcode: Opcode.selectBucket, key: Buffer.from('b') });
  }

  send(request: RequestParts): void {
    this.socket.write(encodeRequest(request));
  }

  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await wait(1);
  }

  /** Opens a stream of each vbucket, from its start and without an end. */
  openStreams(): void {
    this.send({ opcode: Opcode.dcpOpen, key: Buffer.from('bench'), extras: producerExtras });
    for (let vb = 0; vb < vbuckets; vb++)
      this.send({ opcode: Opcode.dcpStreamRequest, vb, extras: endlessStreamExtras });
  }

  private receive(chunk: Buffer): void {
    const { reader, frame } = this;
    reader.feed(chunk, 0, chunk.length);
    while (reader.next(frame) === FrameResult.whole) {
      if (frame.opcode === Message.mutation) {
        this.mutations++;
        this.onMutation?.(frame.buffer, frame.valueStart);
      } else if (frame.magic === Magic.response) {
        this.replies++;
        const status = responseStatus(frame);
        if (status !== Status.success)
          throw new Error(`opcode ${frame.opcode} was answered with status ${status}`);
      }
    }
    reader.copyUnread();
  }
}

/** A SET that is answered only if it fails. */
const quietSetOf = (i: number, value: Buffer): Buffer =>
  encodeRequest({
    opcode: Opcode.setQuietly,
    vb: i % vbuckets,
    key: Buffer.from(`\0key-${i}`),
    value,
    extras: Buffer.alloc(8),
  });

async function fill(port: number, count: number): Promise<void> {
  const writer = new BenchClient(port);
  const value = Buffer.alloc(valueBytes, 'v');
  for (let i = 0; i < count; i += setsPerBatch) {
    const sets = Array.from({ length: setsPerBatch }, (_, j) => quietSetOf(i + j, value));
    const repliesBefore = writer.replies;
    writer.socket.write(Buffer.concat([...sets, encodeRequest({ opcode: Opcode.noop })]));
    await writer.until(() => writer.replies > repliesBefore);
  }
  writer.socket.destroy();
}

async function backfill(port: number, count: number): Promise<void> {
  const client = new BenchClient(port);
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  client.openStreams();
  await client.until(() => client.mutations >= count);
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const rate = (count / seconds / 1000).toFixed(0);
  const cost = ((user + system) / count).toFixed(1);
  console.log(
    `backfill: ${rate} k items/s (goal 200 k/s), ${cost} µs of processor time per item, including the client`,
  );
  client.socket.destroy();
}

/** Each SET contains its send time; the client compares it with the time at which the stream returns it. */
async function lag(port: number, count: number, seconds: number): Promise<void> {
  const follower = new BenchClient(port);
  follower.openStreams();
  // On a busy machine a backfill pauses for longer than any wait: its mutations would count as those of the writer.
  await follower.until(() => follower.mutations >= count);
  const lagsMs: number[] = [];
  follower.onMutation = (buffer, valueStart) =>
    lagsMs.push(performance.now() - buffer.readDoubleBE(valueStart));
  const writer = new BenchClient(port);
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  let sent = 0;
  for (let nowMs = startedMs; nowMs - startedMs < seconds * 1000; nowMs = performance.now()) {
    const due = Math.min(Math.floor((nowMs - startedMs) * liveSetsPerMs), sent + liveSetsAtOnce);
    const value = Buffer.alloc(valueBytes, 'w');
    value.writeDoubleBE(nowMs, 0);
    const sets: Buffer[] = [];
    for (; sent < due; sent++) sets.push(quietSetOf(sent, value));
    writer.socket.write(Buffer.concat(sets));
    await wait(1);
  }
  await follower.until(() => lagsMs.length === sent);
  const { user, system } = process.cpuUsage(cpuBefore);
  const cost = ((user + system) / sent).toFixed(1);
  lagsMs.sort((a, b) => a - b);
  const lagAt = (share: number): string => (lagsMs[Math.floor((lagsMs.length - 1) * share)] ?? 0).toFixed(1);
  const rate = (sent / seconds / 1000).toFixed(0);
  console.log(
    `live: ${rate} k sets/s, lag ${lagAt(0.5)} ms median, ${lagAt(0.99)} ms at 99 % (goal 5 ms at 50 k/s), ` +
      `${cost} µs of processor time per SET, including clients and disk thread`,
  );
  follower.socket.destroy();
  writer.socket.destroy();
}
