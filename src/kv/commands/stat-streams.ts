// Groups of STAT about change streams (each connection and stream, totals by kind of connection, progress of one vbucket's stream)
// and about range scans.
import { Status } from '#wire/status.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { Request } from '../dispatch/request.ts';
import type { StreamConnection } from '../served/producers.ts';
import type { Stream } from '../stream/stream.ts';
import type { Figures } from './stat-figures.ts';

const producersOf = ({ bucket }: Request): StreamConnection[] => [...bucket.producers.all()];

/** Number of changes that the connection's streams have not sent yet. */
const remaining = (producer: StreamConnection): number =>
  producer.all().reduce((sum, stream) => sum + stream.remaining, 0);

const total = (producers: readonly StreamConnection[], of: (producer: StreamConnection) => number): number =>
  producers.reduce((sum, producer) => sum + of(producer), 0);

/** `dcp`. */
export function* statStreams(request: Request): Figures {
  const producers = producersOf(request);
  const nowMs = request.environment.clock.monotonicMs();
  for (const producer of producers) {
    yield* producerFigures(
      producer,
      Math.floor((producer.openedMs - request.environment.startedMs) / 1000),
      nowMs,
    );
    for (const stream of producer.all()) yield* streamFigures(producer, stream);
  }
  yield ['ep_dcp_count', producers.length];
  yield ['ep_dcp_producer_count', producers.length];
  yield ['ep_dcp_num_running_backfills', total(producers, ({ figures }) => figures.pages)];
  yield ['ep_dcp_items_sent', total(producers, ({ figures }) => figures.itemsSent)];
  yield ['ep_dcp_items_remaining', total(producers, remaining)];
  yield ['ep_dcp_total_bytes', total(producers, ({ figures }) => figures.bytesSent)];
  yield ['ep_dcp_dead_conn_count', 0];
}

function* producerFigures(producer: StreamConnection, created: number, nowMs: number): Figures {
  const { controls, figures, name } = producer;
  const prefix = `eq_dcpq:${name}`;
  yield [`${prefix}:type`, 'producer'];
  yield [`${prefix}:created`, created];
  yield [`${prefix}:connected`, 'true'];
  yield [`${prefix}:num_streams`, producer.streamCount];
  yield [`${prefix}:items_sent`, figures.itemsSent];
  yield [`${prefix}:items_remaining`, remaining(producer)];
  yield [`${prefix}:total_bytes_sent`, figures.bytesSent];
  yield [`${prefix}:unacked_bytes`, figures.bytesUnacked];
  yield [`${prefix}:max_buffer_bytes`, controls.bufferBytes];
  yield [`${prefix}:flow_control`, controls.bufferBytes > 0 ? 'enabled' : 'disabled'];
  yield [`${prefix}:paused`, String(producer.isBlocked)];
  yield [`${prefix}:num_running_backfills`, figures.pages];
  yield [`${prefix}:noop_enabled`, String(controls.noop)];
  yield [`${prefix}:noop_tx_interval`, controls.noopIntervalMs / 1000];
  yield [`${prefix}:noop_wait`, String(producer.isAwaitingNoop)];
  yield [`${prefix}:last_sent_time_ago`, Math.floor((nowMs - producer.lastSentMs) / 1000)];
}

function* streamFigures(producer: StreamConnection, stream: Stream): Figures {
  const { address, endSeqno, startSeqno } = stream.options;
  const suffix = address.streamId === 0 ? '' : `:sid_${address.streamId}`;
  const prefix = `eq_dcpq:${producer.name}:stream_${address.vb}${suffix}`;
  yield [`${prefix}_opaque`, address.opaque];
  yield [`${prefix}_start_seqno`, startSeqno];
  yield [`${prefix}_end_seqno`, Number.isFinite(endSeqno) ? endSeqno : '18446744073709551615'];
  yield [`${prefix}_last_sent_seqno`, stream.position];
  yield [`${prefix}_items_remaining`, stream.remaining];
  yield [`${prefix}_state`, stream.isBackfilling ? 'backfilling' : 'in-memory'];
}

/** Names of statistics contain the separator. */
const separatorBytesMax = 200;

/** `dcpagg [separator]`: totals of connections whose names are equal up to the separator. */
export const statStreamTotals = (request: Request, argument: string): Figures | Status =>
  Buffer.byteLength(argument) > separatorBytesMax
    ? Status.invalidArguments
    : totalsByKind(request, argument === '' ? ':' : argument);

function* totalsByKind(request: Request, separator: string): Figures {
  const groups = new Map<string, StreamConnection[]>();
  for (const producer of producersOf(request)) {
    const end = producer.name.indexOf(separator);
    const kind = end < 0 ? '_unknown' : producer.name.slice(0, end);
    groups.set(kind, [...(groups.get(kind) ?? []), producer]);
  }
  for (const [kind, producers] of groups) yield* totalsOf(kind, separator, producers);
  yield* totalsOf(`${separator}total`, separator, producersOf(request));
}

function* totalsOf(kind: string, separator: string, producers: readonly StreamConnection[]): Figures {
  const prefix = `${kind}${separator}`;
  yield [`${prefix}count`, producers.length];
  yield [`${prefix}producer_count`, producers.length];
  yield [`${prefix}items_sent`, total(producers, ({ figures }) => figures.itemsSent)];
  yield [`${prefix}items_remaining`, total(producers, remaining)];
  yield [`${prefix}total_bytes`, total(producers, ({ figures }) => figures.bytesSent)];
  yield [`${prefix}backoff`, 0];
}

/** `dcp-vbtakeover vbucket connection`: what the connection's stream of a vbucket still has to send. */
export function statTakeover(request: Request, argument: string): Figures | Status {
  const [, number, name] = /^(\d{1,5}) (.+)$/.exec(argument) ?? [];
  if (number === undefined) return Status.invalidArguments;
  const vb = Number(number);
  const source = request.bucket.engine?.changes;
  if (!source || source.servedState(vb) === VbucketState.dead) return Status.notMyVbucket;
  const stream = producersOf(request)
    .find((producer) => producer.name === name)
    ?.find(vb, 0);
  if (!stream) {
    return [
      ['status', 'does_not_exist'],
      ['estimate', source.highSeqno(vb)],
      ['backfillRemaining', 0],
    ];
  }
  return [
    ['name', name as string],
    ['status', stream.isBackfilling ? 'backfilling' : 'in-memory'],
    ['estimate', stream.remaining],
    ['backfillRemaining', stream.isBackfilling ? stream.remaining : 0],
    ['chk_items', stream.isBackfilling ? 0 : stream.remaining],
    ['vb_items', source.highSeqno(vb)],
    ['on_disk_deletes', 0],
  ];
}

/** `range-scans`. */
export function* statRangeScans({ bucket }: Request): Figures {
  for (const scan of bucket.scans.all()) {
    const prefix = `vb_${scan.vb}:${scan.id.toString('hex')}`;
    yield [`${prefix}:collection`, `0x${scan.collection.toString(16)}`];
    yield [`${prefix}:key_only`, String(scan.keyOnly)];
    yield [`${prefix}:keys`, scan.keys.length];
    yield [`${prefix}:keys_done`, scan.next];
  }
}
