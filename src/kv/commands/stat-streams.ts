// The groups of STAT about change streams and range scans.
import type { Request } from '../dispatch/request.ts';
import type { Producer } from '../stream/producer.ts';
import type { Figures } from './stat-figures.ts';

/** `dcp`: each connection of change streams. */
export function* statStreams({ bucket }: Request): Figures {
  const producers = [...bucket.producers.all()];
  for (const { name, streamCount, figures } of producers) {
    yield [`${name}:type`, 'producer'];
    yield [`${name}:num_streams`, streamCount];
    yield [`${name}:items_sent`, figures.itemsSent];
    yield [`${name}:total_bytes_sent`, figures.bytesSent];
    yield [`${name}:unacked_bytes`, figures.bytesUnacked];
  }
  yield ['ep_dcp_count', producers.length];
  yield ['ep_dcp_producer_count', producers.length];
  yield ['ep_dcp_items_sent', sum(producers, 'itemsSent')];
  yield ['ep_dcp_total_bytes', sum(producers, 'bytesSent')];
}

/** `dcpagg [separator]`: sums over connections whose names begin alike, up to the separator. */
export function* statStreamTotals({ bucket }: Request, argument: string): Figures {
  const separator = argument === '' ? ':' : argument;
  const byPrefix = new Map<string, Producer[]>();
  for (const producer of bucket.producers.all()) {
    const [prefix = '', rest] = producer.name.split(separator);
    const name = rest === undefined ? '_unknown' : prefix;
    byPrefix.set(name, [...(byPrefix.get(name) ?? []), producer]);
  }
  byPrefix.set(':total', [...bucket.producers.all()]);
  for (const [prefix, producers] of byPrefix) {
    yield [`${prefix}:count`, producers.length];
    yield [`${prefix}:producer_count`, producers.length];
    yield [`${prefix}:items_sent`, sum(producers, 'itemsSent')];
    yield [`${prefix}:total_bytes`, sum(producers, 'bytesSent')];
  }
}

const sum = (producers: readonly Producer[], figure: 'itemsSent' | 'bytesSent'): number =>
  producers.reduce((total, { figures }) => total + figures[figure], 0);

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
