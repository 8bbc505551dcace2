// The change stream connections of one bucket, by the names that the clients chose.
import type { StreamFigures } from '../activity.ts';
import type { Controls } from '../stream/controls.ts';
import type { Stream } from '../stream/stream.ts';

/** A change stream connection, as its bucket and the statistics use it. */
export interface StreamConnection {
  readonly name: string;
  readonly controls: Readonly<Controls>;
  /** `pages`: how many pages of changes are being read or sent. */
  readonly figures: { itemsSent: number; bytesSent: number; bytesUnacked: number; pages: number };
  readonly openedMs: number;
  readonly lastSentMs: number;
  /** Flow control stops the sending: the client has not acknowledged enough, or its socket accepts no more. */
  readonly isBlocked: boolean;
  readonly isAwaitingNoop: boolean;
  readonly streamCount: number;
  all(): readonly Stream[];
  find(vb: number, streamId: number): Stream | undefined;
  /** The bucket no longer serves the documents that the streams read. */
  sourceGone(): void;
  /** The bucket is deleted: the streams end and the connection is closed. */
  bucketGone(): void;
  /** Another connection took over the name. */
  replaced(): void;
}

/** Limit of change stream connections of a bucket: each may use some megabytes of pages. */
export const producersMax = 256;
/** Limit of streams of all connections on one bucket: each needs some hundred bytes. */
export const bucketStreamsMax = 65_536;

export class Producers {
  private readonly byName = new Map<string, StreamConnection>();
  /** All kinds since the start: a metric of a kind without connections reports 0 instead of vanishing. */
  private readonly seen = new Set<string>([otherKind]);

  /** A connection that takes over a name replaces the older one, so it needs no further place. */
  admits(name: string): boolean {
    return this.byName.size < producersMax || this.byName.has(name);
  }

  get isFullOfStreams(): boolean {
    let streams = 0;
    for (const { streamCount } of this.byName.values()) streams += streamCount;
    return streams >= bucketStreamsMax;
  }

  all(): Iterable<StreamConnection> {
    return this.byName.values();
  }

  /** A client may reconnect before its old connection is found dead: the new connection replaces the one of the same name. */
  add(producer: StreamConnection): void {
    this.seen.add(kindOf(producer.name));
    const older = this.byName.get(producer.name);
    older?.replaced();
    this.byName.set(producer.name, producer);
  }

  delete(name: string, producer: StreamConnection): void {
    if (this.byName.get(name) === producer) this.byName.delete(name);
  }

  /** By kind of connection. */
  figures(): Record<string, StreamFigures> {
    const byKind: Record<string, StreamFigures> = {};
    for (const kind of this.seen)
      byKind[kind] = { connections: 0, itemsSent: 0, bytesSent: 0, itemsRemaining: 0 };
    for (const producer of this.byName.values()) {
      const sum = byKind[kindOf(producer.name)] as StreamFigures;
      sum.connections++;
      sum.itemsSent += producer.figures.itemsSent;
      sum.bytesSent += producer.figures.bytesSent;
      sum.itemsRemaining += producer.all().reduce((left, { remaining }) => left + remaining, 0);
    }
    return byKind;
  }

  /** Like `Connection.send` it must not be called while a request is being run. */
  bucketGone(): void {
    for (const producer of this.byName.values()) producer.bucketGone();
  }

  /** The documents can no longer be read. */
  sourceGone(): void {
    for (const producer of this.byName.values()) producer.sourceGone();
  }
}

const otherKind = 'other';
/** Clients choose any name, but the services of a cluster prefix theirs with their kind. */
const kinds = ['replication', 'xdcr', 'fts', 'cbas', 'secidx', 'eventing', 'mapreduce_view', 'backup'];
const kindOf = (name: string): string => kinds.find((kind) => name.startsWith(`${kind}:`)) ?? otherKind;
