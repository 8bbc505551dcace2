// What of a change is sent: rules that leave changes out, and the value with what must not leave the cluster removed.
import { inflatedBytesMax } from '#client/bucket-client.ts';
import type { Change } from '#client/change.ts';
import { snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart, getXattr, XattrWalk } from '#wire/xattr-section.ts';
import { kindNames, type ReplicationCounts } from '../figures.ts';
import type { DataPathSettings } from '../xdcr.contract.ts';

export interface OutgoingValue {
  readonly value: Buffer;
  readonly datatype: number;
}

/** Smaller values are not worth the time. */
const compressedBytesMin = 128;
/** Larger ones are sent as they are: compressing them would delay all others. */
const compressedBytesMax = 1 << 20;
/** Records of transactions, which mean nothing in another cluster. */
const transactionRecord = /^_txn:(?:client-record|atr-\d{1,4}-#[0-9a-f]+)$/;
const transactionXattr = Buffer.from('txn');
const prefix = Buffer.from('_txn:');
const walk = new XattrWalk();

/** Null: the change is left out, and counted. The value is copied. */
export function sentValue(
  change: Change,
  settings: DataPathSettings,
  figures: ReplicationCounts,
): OutgoingValue | null {
  const reason = reasonToLeaveOut(change, settings);
  if (reason !== null) return leftOut(change, figures, reason);
  const { datatype } = change;
  const view = change.buffer.subarray(change.xattrsStart, change.end);
  if ((datatype & Datatype.xattr) === 0) return packed(Buffer.from(view), datatype, settings, figures);
  const plain = inflated(view, datatype);
  const start = bodyStart(plain, 0, plain.length);
  const section = plain.subarray(0, start);
  if (start < 0 || getXattr(section, transactionXattr) === null)
    return packed(Buffer.from(view), datatype, settings, figures);
  if (settings.filterBypassUncommittedTxn) return leftOut(change, figures, 'docs_filtered_on_txn_xattr');
  const kept = withoutXattr(section, transactionXattr);
  const bits = (datatype & Datatype.json) | (kept.length > 0 ? Datatype.xattr : 0);
  return packed(Buffer.concat([kept, plain.subarray(start)]), bits, settings, figures);
}

function reasonToLeaveOut(change: Change, settings: DataPathSettings): string | null {
  const { kind, keyBytes } = change;
  if (keyBytes.length > prefix.length && keyBytes.subarray(0, prefix.length).equals(prefix)) {
    const key = keyBytes.toString();
    if (transactionRecord.test(key))
      return key.startsWith('_txn:c') ? 'client_txn_docs_filtered' : 'atr_txn_docs_filtered';
  }
  if (settings.filterBinary && kind === 'mutation' && !change.isJson) return 'binary_filtered';
  if (settings.filterDeletion && kind === 'deletion') return 'deletion_filtered';
  if (settings.filterExpiration && kind === 'expiration') return 'expiry_filtered';
  return null;
}

function leftOut({ kind }: Change, figures: ReplicationCounts, reason: string): null {
  figures.add('docs_filtered');
  figures.add(reason);
  const ofKind = `${kindNames[kind]}_filtered`;
  if (ofKind !== reason) figures.add(ofKind);
  return null;
}

/** `Auto`: compressed where that makes it smaller; `None`: as the source stores it. */
function packed(
  value: Buffer,
  datatype: number,
  settings: DataPathSettings,
  figures: ReplicationCounts,
): OutgoingValue {
  const isCompressed = (datatype & Datatype.snappy) !== 0;
  const isFit = value.length >= compressedBytesMin && value.length <= compressedBytesMax;
  if (settings.compressionType === 'None' || isCompressed || !isFit) return { value, datatype };
  const smaller = snappyCompress(value, 0, value.length);
  if (smaller.length < value.length)
    return { value: Buffer.from(smaller), datatype: datatype | Datatype.snappy };
  figures.add('docs_compression_skipped');
  return { value, datatype };
}

function inflated(view: Buffer, datatype: number): Buffer {
  if ((datatype & Datatype.snappy) === 0) return view;
  const plain = snappyInflate(view, 0, view.length, inflatedBytesMax);
  if (plain === null) throw new Error('a change stream sent a value that cannot be inflated');
  return plain;
}

/** A section without the key; empty when no pair is left. */
function withoutXattr(section: Buffer, key: Uint8Array): Buffer {
  const kept: Buffer[] = [];
  walk.begin(section, 0, section.length);
  while (walk.next()) if (!walk.isKey(key)) kept.push(section.subarray(walk.pairStart, walk.pairEnd));
  if (kept.length === 0) return Buffer.alloc(0);
  const pairs = Buffer.concat(kept);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(pairs.length);
  return Buffer.concat([head, pairs]);
}
