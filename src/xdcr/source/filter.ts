// Which changes are sent, by the filters of the replication, and with which value: without the staged changes of transactions, compressed.

import type { Change, ChangeKind } from '#client/change.ts';
import { inflatedBytesMax } from '#client/fetched-document.ts';
import { isTransactionRecordKey, transactionPrefix } from '#client/transaction-record.ts';
import { snappyBound, snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { bodyStart, getXattr, XattrWalk } from '#wire/xattr-section.ts';
import type { DocumentFilter, FilteredDocument } from '../filter/document-filter.ts';
import type { Route } from '../mapping/routes.ts';
import { countersOf, type ReplicationCounts } from '../replication-counts.ts';
import type { DataPathSettings } from '../xdcr.contract.ts';

export interface OutgoingValue {
  readonly value: Buffer;
  readonly datatype: number;
}

/** Smaller values are sent uncompressed: compressing them saves too little for the time that it takes. */
const compressedBytesMin = 128;
/** Larger values are sent uncompressed: compressing them would delay all others. */
const compressedBytesMax = 1 << 20;
const transactionXattr = Buffer.from('txn');
const xattrWalk = new XattrWalk();
const filteredCounters = countersOf('filtered');

/** Returns a copy of the value to send; null if a filter leaves the change out, which is then counted. */
export function sentValue(
  document: ChangedDocument,
  settings: DataPathSettings,
  counts: ReplicationCounts,
  filter: DocumentFilter | null,
): OutgoingValue | null {
  const { change } = document;
  const isExpressionApplied = appliesExpression(change.kind, settings, filter);
  const filterCounter = filterCounterOf(change, settings, isExpressionApplied);
  if (filterCounter !== null) return leaveOut(change, counts, filterCounter);
  const { datatype } = change;
  const view = document.stored;
  if (filter !== null && isExpressionApplied) {
    const result = filter.test(document);
    if (result === 'unmatched') return leaveOut(change, counts, 'docs_filtered_on_user_defined_filter');
    if (result === 'unfilterable') {
      counts.add('docs_unable_to_filter');
      return null;
    }
  }
  if ((datatype & Datatype.xattr) === 0) return valueForTarget(view, datatype, settings, counts);
  const { plain } = document;
  const bodyOffset = bodyStart(plain, 0, plain.length);
  const section = plain.subarray(0, bodyOffset);
  if (bodyOffset < 0 || getXattr(section, transactionXattr) === null)
    return valueForTarget(view, datatype, settings, counts);
  if (settings.filterBypassUncommittedTxn) return leaveOut(change, counts, 'docs_filtered_on_txn_xattr');
  const kept = withoutXattr(section, transactionXattr);
  const bits = (datatype & Datatype.json) | (kept.length > 0 ? Datatype.xattr : 0);
  return valueForTarget(Buffer.concat([kept, plain.subarray(bodyOffset)]), bits, settings, counts);
}

/** The routes that a change takes: a mutation takes those whose filter it matches, deletions and expirations take all. */
export function routesTaken(
  document: ChangedDocument,
  routes: readonly Route[],
  counts: ReplicationCounts,
): readonly Route[] {
  const { change } = document;
  if (change.kind !== 'mutation' || routes.every(({ filter }) => filter === null)) return routes;
  let isUnfilterable = false;
  const taken = routes.filter(({ filter }) => {
    const result = filter === null ? 'matches' : filter.test(document);
    isUnfilterable ||= result === 'unfilterable';
    return result === 'matches';
  });
  if (taken.length === 0 && isUnfilterable) counts.add('docs_unable_to_filter');
  else if (taken.length === 0) leaveOut(change, counts, 'docs_filtered_on_user_defined_filter');
  return taken;
}

/** A change, for filters; valid as long as the change. Its value is inflated once, when something of it is needed. */
export class ChangedDocument implements FilteredDocument {
  readonly change: Change;
  private inflatedValue: Buffer | null = null;

  constructor(change: Change) {
    this.change = change;
  }

  get key(): string {
    return this.change.keyBytes.toString();
  }

  get expiration(): number {
    return this.change.expiry;
  }

  get isJson(): boolean {
    return this.change.isJson;
  }

  /** Extended attributes and body as the source stores them; a view. */
  get stored(): Buffer {
    const { buffer, xattrsStart, end } = this.change;
    return buffer.subarray(xattrsStart, end);
  }

  /** Extended attributes and body, inflated. */
  get plain(): Buffer {
    this.inflatedValue ??= inflated(this.stored, this.change.datatype);
    return this.inflatedValue;
  }

  body(): Buffer {
    return this.plain.subarray(this.start);
  }

  xattr(name: string): Buffer | null {
    const section = this.plain.subarray(0, this.start);
    return section.length === 0 ? null : getXattr(section, Buffer.from(name));
  }

  private get start(): number {
    return (this.change.datatype & Datatype.xattr) === 0
      ? 0
      : Math.max(0, bodyStart(this.plain, 0, this.plain.length));
  }
}

/** Whether `filterExpression` decides about a change of this kind: about deletions and expirations only with their own two settings. */
function appliesExpression(
  kind: ChangeKind,
  settings: DataPathSettings,
  filter: DocumentFilter | null,
): boolean {
  if (filter === null || kind === 'mutation') return filter !== null;
  return kind === 'deletion'
    ? settings.filterDeletion && settings.filterDeletionsWithExpression
    : settings.filterExpiration && settings.filterExpirationsWithExpression;
}

/** The published counter of the setting that leaves the change out; null if only the filter expression can do that. */
function filterCounterOf(
  change: Change,
  settings: DataPathSettings,
  isExpressionApplied: boolean,
): string | null {
  const { kind, keyBytes } = change;
  if (keyBytes.subarray(0, transactionPrefix.length).equals(transactionPrefix)) {
    const key = keyBytes.toString();
    if (isTransactionRecordKey(key))
      return key.startsWith('_txn:c') ? 'client_txn_docs_filtered' : 'atr_txn_docs_filtered';
  }
  if (settings.filterBinary && kind === 'mutation' && !change.isJson) return 'binary_filtered';
  if (isExpressionApplied) return null;
  if (settings.filterDeletion && kind === 'deletion') return 'deletion_filtered';
  if (settings.filterExpiration && kind === 'expiration') return 'expiry_filtered';
  return null;
}

function leaveOut({ kind }: Change, counts: ReplicationCounts, filterCounter: string): null {
  counts.add('docs_filtered');
  counts.add(filterCounter);
  const kindCounter = filteredCounters[kind];
  if (kindCounter !== filterCounter) counts.add(kindCounter);
  return null;
}

/** A copy of the value, compressed where `compressionType` says so and that makes it smaller. */
function valueForTarget(
  view: Buffer,
  datatype: number,
  settings: DataPathSettings,
  counts: ReplicationCounts,
): OutgoingValue {
  const isCompressed = (datatype & Datatype.snappy) !== 0;
  const isWorthwhile = view.length >= compressedBytesMin && view.length <= compressedBytesMax;
  if (settings.compressionType === 'None' || isCompressed || !isWorthwhile)
    return { value: Buffer.from(view), datatype };
  const smaller = snappyCompress(view, 0, view.length, scratchFor(view.length));
  if (smaller.length < view.length)
    return { value: Buffer.from(smaller), datatype: datatype | Datatype.snappy };
  counts.add('docs_compression_skipped');
  return { value: Buffer.from(view), datatype };
}

/** The buffer in which values are compressed: only the result is copied from it. */
let scratch: Buffer = Buffer.alloc(0);

function scratchFor(bytes: number): Buffer {
  const needed = snappyBound(bytes);
  if (scratch.length < needed) scratch = Buffer.allocUnsafeSlow(2 * needed);
  return scratch;
}

function inflated(view: Buffer, datatype: number): Buffer {
  if ((datatype & Datatype.snappy) === 0) return view;
  const plain = snappyInflate(view, 0, view.length, inflatedBytesMax);
  if (plain === null) throw new Error('a change stream sent a value that cannot be inflated');
  return plain;
}

/** A section of extended attributes without the pair of this key; empty when no pair is left. */
function withoutXattr(section: Buffer, key: Uint8Array): Buffer {
  const kept: Buffer[] = [];
  xattrWalk.begin(section, 0, section.length);
  while (xattrWalk.next())
    if (!xattrWalk.isKey(key)) kept.push(section.subarray(xattrWalk.pairStart, xattrWalk.pairEnd));
  if (kept.length === 0) return Buffer.alloc(0);
  const pairs = Buffer.concat(kept);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(pairs.length);
  return Buffer.concat([head, pairs]);
}
