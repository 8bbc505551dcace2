// The connections of change streams on one bucket, by the names they gave themselves.
import type { StreamFigures } from '../activity.ts';
import type { Controls } from '../stream/controls.ts';
import type { Stream } from '../stream/stream.ts';

/** One of them, as its bucket and its statistics see it. */
export interface StreamConnection {
  readonly name: string;
  readonly controls: Readonly<Controls>;
  readonly figures: { itemsSent: number; bytesSent: number; bytesUnacked: number; pages: number };
  readonly openedMs: number;
  readonly lastSentMs: number;
  /** The client has not acknowledged enough, or its socket takes no more. */
  readonly isHeldUp: boolean;
  readonly isAwaitingNoop: boolean;
  readonly streamCount: number;
  all(): readonly Stream[];
  find(vb: number, streamId: number): Stream | undefined;
  /** The bucket stops to serve what the streams read. */
  sourceGone(): void;
  /** The bucket is deleted: the streams end, and the connection with them. */
  bucketGone(): void;
  /** Another connection took over the name. */
  replaced(): void;
}

/** Each may hold some megabytes of pages. */
const producersMax = 256;
/** Of all connections on one bucket: each takes some hundred bytes. */
export const bucketStreamsMax = 65_536;

export class Producers {
  private readonly byName = new Map<string, StreamConnection>();
  /** Kinds that there were: who watches one sees it fall to nothing. */
  private readonly seen = new Set<string>([otherKind]);

  get isFull(): boolean {
    return this.byName.size >= producersMax;
  }

  get isFullOfStreams(): boolean {
    let streams = 0;
    for (const { streamCount } of this.byName.values()) streams += streamCount;
    return streams >= bucketStreamsMax;
  }

  all(): Iterable<StreamConnection> {
    return this.byName.values();
  }

  /** A client that comes back before its old connection was found dead takes its name over. */
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

  /** Only in a stretch of its own, as `Connection.send`. */
  bucketGone(): void {
    for (const producer of this.byName.values()) producer.bucketGone();
  }

  /** The documents cannot be read any more. */
  sourceGone(): void {
    for (const producer of this.byName.values()) producer.sourceGone();
  }
}

const otherKind = 'other';
/** Names are for clients to choose, but the services of a cluster begin theirs with their kind. */
const kinds = ['replication', 'xdcr', 'fts', 'cbas', 'secidx', 'eventing', 'mapreduce_view', 'backup'];
const kindOf = (name: string): string => kinds.find((kind) => name.startsWith(`${kind}:`)) ?? otherKind;
