// The connections of this node to the other data services, one to each: the boot of the other process, heartbeats in both directions, and
// flow control.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { type PeerSpec, promiseMsMax, type SyncMember } from '../admin.ts';
import { earlierForm, isEarlierFrame } from './earlier-frames.ts';
import { FrameDecoder } from './frame-decoder.ts';
import type { FrameWriter } from './frame-writer.ts';
import type { BatchBody, Beat, CopyBatch, PeerHello, PeerMessage } from './frames.ts';
import type { Link } from './link.ts';
import { PeerConnection } from './peer-connection.ts';

export const heartbeatEveryMs = 200;
const redialPauseMs = 500;
/**
 * A connection on which nothing arrives for this many heartbeats is closed and made again. Otherwise it would go on when TCP repeats what was lost,
 * which may be as long after a fault of the network as the fault lasted.
 */
export const silentBeatsMax = 25;
/** The time that the last messages of a process may take when it stops, and the pause between checks. */
const lastMessagesMs = { limit: 500, pause: 5 };
/** Events of the connections to the other nodes. */
export interface PeerEvents {
  connected(node: string): void;
  disconnected(node: string): void;
  /** Called before messages that arrived together. */
  arrived(): void;
  /** Batches and their bodies are valid during the call. */
  received(node: string, message: PeerMessage, body: BatchBody, bytes: number): void;
  /** More may be sent to the node again. */
  hasRoom(node: string): void;
}

export interface PeersOptions {
  self: SyncMember;
  clock: Clock;
  log: Log;
  connect: (peer: PeerSpec) => Promise<Link>;
  events: PeerEvents;
}

interface PeerTimes {
  /** When this node sent the last beat that the node answered. */
  answeredMs: number;
  /** Until this monotonic time the other node confirms no higher epoch, so that this node may serve. */
  servesUntilMs: number;
  /** Until this monotonic time this node confirms no higher epoch than those of the other node, as it promised. */
  promisedUntilMs: number;
  /** The boot id of the process of the other node that gave the promise. */
  promisingBoot: string | null;
  /** The other node, too, counts a promise as one of a process, not of its node. */
  countsBoots: boolean;
  /** The boot of the process that ended cleanly last. */
  endedBoot: string | null;
  /** The other node serves only while a promise of this one is valid. */
  needsPromise: boolean;
}

export class PeerConnections {
  private readonly options: PeersOptions;
  /** The duration of this node's next promises. */
  promiseMs = promiseMsMax;
  private specs: readonly PeerSpec[] = [];
  private readonly connections = new Map<string, PeerConnection>();
  private readonly times = new Map<string, PeerTimes>();
  private readonly dialling = new Set<string>();
  private timer: Timer;
  private isStopping = false;

  constructor(options: PeersOptions) {
    this.options = options;
    this.timer = options.clock.after(heartbeatEveryMs, () => this.beat());
  }

  follow(specs: readonly PeerSpec[]): void {
    this.specs = specs;
    for (const node of [...this.connections.keys()])
      if (!this.isInCluster(node)) this.connections.get(node)?.link.close('it left the cluster');
    this.dial();
  }

  /** A node connected to this one. */
  accept(link: Link): void {
    if (this.isStopping) link.close('the node stops');
    else if (this.isInCluster(link.node)) this.adopt(link);
    else link.close('it is not a node of the cluster');
  }

  /** The boot of a connected node, else null. */
  bootOf(node: string): string | null {
    return this.connections.get(node)?.boot ?? null;
  }

  /** Whether the connected process says which earlier one it continues. */
  saysContinued(node: string): boolean {
    return this.connections.get(node)?.saysContinued ?? false;
  }

  /** Whether the connected process rolls copies back by key. */
  rollsBack(node: string): boolean {
    return this.connections.get(node)?.rollsBack ?? false;
  }

  connected(): string[] {
    return [...this.connections].flatMap(([node, { boot }]) => (boot === null ? [] : [node]));
  }

  /** Whether the node belongs to the cluster, connected or not. */
  isInCluster(node: string): boolean {
    return this.specs.some((spec) => spec.node === node);
  }

  answeredMs(node: string): number {
    return this.times.get(node)?.answeredMs ?? -Infinity;
  }

  /** Until when the node confirms no higher epoch than those of this one, as its last connected process promised. */
  servesUntilMs(node: string): number {
    return this.times.get(node)?.servesUntilMs ?? -Infinity;
  }

  /** Whether the node serves by promises of the processes in its in-sync sets only, not by those of earlier ones. */
  countsBoots(node: string | undefined): boolean {
    return this.times.get(node ?? '')?.countsBoots ?? false;
  }

  /** Whether that process reported that it ended. */
  hasEnded({ node, boot }: SyncMember): boolean {
    return this.times.get(node)?.endedBoot === boot;
  }

  promisedUntilMs(node: string | undefined): number {
    return this.times.get(node ?? '')?.promisedUntilMs ?? -Infinity;
  }

  /** With two nodes only an operator can depose an active, which therefore serves without a promise. */
  get needsPromise(): boolean {
    return this.specs.length >= 2;
  }

  /** Whether the node served by promises when its last message arrived, also if it has left the cluster since. */
  neededPromise(node: string | undefined): boolean {
    return this.times.get(node ?? '')?.needsPromise ?? true;
  }

  mayFeed(node: string): boolean {
    const connection = this.connections.get(node);
    return connection !== undefined && connection.boot !== null && connection.hasRoom;
  }

  send(node: string, message: PeerMessage, body?: Uint8Array): void {
    this.connections.get(node)?.send(message, body);
  }

  /** Sends a batch with the memory of its body, instead of a copy. Calls `sent` when that memory is no longer needed. */
  sendPage(node: string, batch: CopyBatch, body: Uint8Array, sent: () => void): void {
    const connection = this.connections.get(node);
    if (connection === undefined) sent();
    else connection.sendPage(batch, body, sent);
  }

  /** Where a batch to the node is written change by change; null: it must be sent as a message. */
  batchFrames(node: string): FrameWriter | null {
    const connection = this.connections.get(node);
    return connection === undefined || connection.isEarlier ? null : connection.outgoing;
  }

  /** Call after a batch of this size was written into the outgoing frames. */
  batchWritten(node: string, bytes: number): void {
    this.connections.get(node)?.batchWritten(bytes);
  }

  /** This node neither sends nor answers heartbeats from now on. */
  stop(): void {
    this.isStopping = true;
    this.timer.cancel();
  }

  /** Ends the promises of the others, for a process that serves nothing any more. Resolves once the messages are sent. */
  async releasePromises(): Promise<void> {
    const { clock } = this.options;
    for (const node of this.connected()) this.send(node, { kind: 'ended' });
    for (const connection of this.connections.values()) connection.write();
    const links = [...this.connections.values()].map(({ link }) => link);
    const untilMs = clock.monotonicMs() + lastMessagesMs.limit;
    while (links.some(({ unsentBytes }) => unsentBytes > 0) && clock.monotonicMs() < untilMs)
      await clock.sleep(lastMessagesMs.pause);
  }

  close(): void {
    this.stop();
    for (const { link } of [...this.connections.values()]) link.close('the node stops');
  }

  private beat(): void {
    const { clock } = this.options;
    this.timer = clock.after(heartbeatEveryMs, () => this.beat());
    this.closeSilent();
    const { needsPromise } = this;
    for (const node of this.connected())
      this.send(node, { kind: 'beat', sentMs: clock.monotonicMs(), wallMs: clock.wallMs(), needsPromise });
    this.dial();
  }

  /** Counts heartbeats, and not time: after a pause of this process it first reads what arrived meanwhile. */
  private closeSilent(): void {
    for (const connection of [...this.connections.values()]) {
      connection.silentBeats = connection.hasHeard ? 0 : connection.silentBeats + 1;
      connection.hasHeard = false;
      if (connection.silentBeats >= silentBeatsMax) connection.link.close('the other node is silent');
    }
  }

  /** The node with the smaller id connects, so that each pair of nodes has one connection. */
  private dial(): void {
    const { clock, connect, log, self } = this.options;
    for (const spec of this.specs) {
      const { node } = spec;
      if (node < self.node || this.connections.has(node) || this.dialling.has(node)) continue;
      this.dialling.add(node);
      connect(spec).then(
        (link) => {
          this.dialling.delete(node);
          this.accept(link);
        },
        (error: Error) => {
          log.debug('replication.unreachable', { node, reason: error.message });
          clock.after(redialPauseMs, () => this.dialling.delete(node));
        },
      );
    }
  }

  private adopt(link: Link): void {
    const { node } = link;
    const earlier = this.connections.get(node);
    if (earlier !== undefined) {
      // Before the new connection is used: messages on the earlier one may be lost, so every feed must be opened again.
      this.lose(earlier, 'it connected again');
      earlier.link.close('it connected again');
    }
    const connection = new PeerConnection(link);
    this.connections.set(node, connection);
    link.receive({
      data: (bytes) => this.receiveBytes(connection, bytes),
      closed: (reason) => this.lose(connection, reason),
    });
    this.send(node, {
      kind: 'hello',
      ...this.options.self,
      saysPromise: true,
      countsBoots: true,
      readsBinary: true,
      saysContinued: true,
      rollsBack: true,
    });
  }

  private receiveBytes(connection: PeerConnection, bytes: Buffer): void {
    this.options.events.arrived();
    connection.hasHeard = true;
    try {
      connection.incoming.push(bytes, (frames, start, end) =>
        this.receiveFrame(connection, frames, start, end),
      );
    } catch (error) {
      connection.link.close((error as Error).message);
    }
  }

  /** @throws Error when the frame is not a message, or the message comes at the wrong time. */
  private receiveFrame(connection: PeerConnection, frames: Buffer, start: number, end: number): void {
    const { clock, events } = this.options;
    const { link } = connection;
    const { node } = link;
    if (this.connections.get(node) !== connection) return;
    const isEarlier = connection.boot === null ? isEarlierFrame(frames, start) : connection.isEarlier;
    if (!isEarlier && connection.boot !== null && FrameDecoder.hasBatches(frames, start)) {
      connection.decoder.batches(frames, start, end, (batch, body, bytes) =>
        events.received(node, batch, body, bytes),
      );
      return;
    }
    const form = isEarlier ? earlierForm : connection.decoder;
    const { message, body } = form.decode(frames, start, end);
    if (message.kind === 'hello') {
      if (message.node !== node) throw new Error('its certificate names another node');
      if (connection.boot !== null) throw new Error('it says hello again');
      connection.boot = message.boot;
      connection.isEarlier = isEarlier && message.readsBinary !== true;
      connection.saysPromise = message.saysPromise ?? false;
      connection.saysContinued = message.saysContinued ?? false;
      connection.rollsBack = message.rollsBack ?? false;
      this.began(message);
      events.connected(node);
    } else if (connection.boot === null) throw new Error('its first message is not a hello');
    else if (message.kind === 'ended') this.ended(connection);
    else if (message.kind === 'beat') {
      if (this.isStopping) return;
      const promiseMs = connection.saysPromise ? this.promiseMs : promiseMsMax;
      const times = this.timesOf(node);
      times.promisedUntilMs = Math.max(times.promisedUntilMs, clock.monotonicMs() + promiseMs);
      // The sender may not know yet of a third node that this one knows.
      times.needsPromise = this.needsPromise || message.needsPromise !== false;
      this.send(node, { kind: 'beaten', sentMs: message.sentMs, wallMs: clock.wallMs(), promiseMs });
    } else if (message.kind === 'beaten') this.answered(node, message);
    else {
      if ('bytes' in message) this.release(connection, message.bytes ?? 0);
      events.received(node, message, bodyOfCuts(body), end - start);
    }
  }

  /** A process does not know what an earlier one of its node promised, so that its own promises have to be enough. */
  private began({ boot, countsBoots = false, node }: PeerHello): void {
    const times = this.timesOf(node);
    if (times.promisingBoot !== boot) times.servesUntilMs = -Infinity;
    times.promisingBoot = boot;
    times.countsBoots = countsBoots;
  }

  private ended({ boot, link }: PeerConnection): void {
    const times = this.timesOf(link.node);
    times.promisedUntilMs = -Infinity;
    times.endedBoot = boot;
  }

  private answered(node: string, { promiseMs = promiseMsMax, sentMs }: Beat): void {
    // An answer to a later heartbeat would make the promise last too long.
    if (sentMs > this.options.clock.monotonicMs())
      throw new Error('it answers a heartbeat that was not sent yet');
    const times = this.timesOf(node);
    times.answeredMs = sentMs;
    times.servesUntilMs = Math.max(times.servesUntilMs, sentMs + promiseMs);
  }

  private release(connection: PeerConnection, bytes: number): void {
    const hadRoom = connection.hasRoom;
    connection.release(bytes);
    if (!hadRoom && connection.hasRoom) this.options.events.hasRoom(connection.link.node);
  }

  private lose(connection: PeerConnection, reason: string): void {
    const { node } = connection.link;
    if (this.connections.get(node) !== connection) return;
    this.connections.delete(node);
    this.options.log.info('replication.disconnected', { node, reason });
    this.options.events.disconnected(node);
  }

  private timesOf(node: string): PeerTimes {
    const times = this.times.get(node) ?? {
      endedBoot: null,
      promisingBoot: null,
      countsBoots: false,
      answeredMs: -Infinity,
      servesUntilMs: -Infinity,
      promisedUntilMs: -Infinity,
      needsPromise: true,
    };
    this.times.set(node, times);
    return times;
  }
}

const bodyOfCuts = (cuts: Buffer): BatchBody => ({ bytes: cuts, start: 0, end: cuts.length, items: -1 });
