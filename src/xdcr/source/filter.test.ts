import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, ChangeKind } from '#client/change.ts';
import { snappyCompress, snappyInflate } from '#wire/snappy.ts';
import { Datatype } from '#wire/status.ts';
import { DocumentFilter } from '../filter/document-filter.ts';
import { ReplicationCounts } from '../replication-counts.ts';
import type { DataPathSettings } from '../xdcr.contract.ts';
import { ChangedDocument, sentValue } from './filter.ts';

const settings = {
  compressionType: 'None',
  filterBypassUncommittedTxn: false,
  filterBinary: false,
  filterDeletion: false,
  filterExpiration: false,
  filterDeletionsWithExpression: false,
  filterExpirationsWithExpression: false,
} as DataPathSettings;

interface Given {
  kind?: ChangeKind;
  key?: string;
  value?: Buffer;
  datatype?: number;
}

const aChange = ({
  kind = 'mutation',
  key = 'k',
  value = Buffer.from('{}'),
  datatype = Datatype.json,
}: Given) =>
  ({
    kind,
    datatype,
    keyBytes: Buffer.from(key),
    buffer: value,
    xattrsStart: 0,
    end: value.length,
    isJson: (datatype & Datatype.json) !== 0,
  }) as Change;

const sent = (given: Given, more: Partial<DataPathSettings> = {}, counts = new ReplicationCounts()) =>
  sentValue(
    new ChangedDocument(aChange(given)),
    { ...settings, ...more },
    counts,
    filterOf(more.filterExpression),
  );

const filterOf = (expression = '') => (expression === '' ? null : new DocumentFilter(expression));

function withXattrs(pairs: Record<string, string>, body: string): Buffer {
  const encoded = Object.entries(pairs).map(([key, value]) => {
    const rest = Buffer.from(`${key}\0${value}\0`);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(rest.length);
    return Buffer.concat([length, rest]);
  });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.concat(encoded).length);
  return Buffer.concat([length, ...encoded, Buffer.from(body)]);
}

test('records of transactions are not sent, documents with similar keys are', () => {
  for (const [key, isLeftOut] of [
    ['_txn:client-record', true],
    ['_txn:atr-0-#14', true],
    ['_txn:atr-1023-#a8', true],
    ['_txn:atr-1023-#xy', false],
    ['_txn:client-records', false],
    ['_txn:', false],
    ['my_txn:client-record', false],
  ] as const)
    assert.equal(sent({ key }) === null, isLeftOut, key);
});

test('a document with a staged change is sent without the change, or not at all with the setting for that', () => {
  const datatype = Datatype.json | Datatype.xattr;
  const both = withXattrs({ own: '{"a":1}', txn: '{"id":1}' }, '{"v":1}');
  const own = withXattrs({ own: '{"a":1}' }, '{"v":1}');
  assert.deepEqual(sent({ value: both, datatype }), { value: own, datatype });
  const packed = snappyCompress(both, 0, both.length);
  assert.deepEqual(sent({ value: packed, datatype: datatype | Datatype.snappy }), { value: own, datatype });
  const only = withXattrs({ txn: '{"id":1}' }, '{"v":1}');
  assert.deepEqual(sent({ value: only, datatype }), {
    value: Buffer.from('{"v":1}'),
    datatype: Datatype.json,
  });
  assert.deepEqual(sent({ value: own, datatype }), { value: own, datatype });
  assert.equal(sent({ value: both, datatype }, { filterBypassUncommittedTxn: true }), null);
});

test('changes of the kinds that the settings name are not sent, and are counted', () => {
  for (const [given, name, counter] of [
    [{ kind: 'deletion' }, 'filterDeletion', 'deletion_filtered'],
    [{ kind: 'expiration' }, 'filterExpiration', 'expiry_filtered'],
    [{ datatype: Datatype.raw }, 'filterBinary', 'binary_filtered'],
  ] as const) {
    const counts = new ReplicationCounts();
    assert.notEqual(sent(given, {}, counts), null);
    assert.equal(sent(given, { [name]: true }, counts), null, name);
    assert.deepEqual([counts.get('docs_filtered'), counts.get(counter)], [1, 1]);
  }
  assert.notEqual(sent({ kind: 'deletion', datatype: Datatype.raw }, { filterBinary: true }), null);
});

test('documents that the filter expression does not match are not sent, deletions are', () => {
  const counts = new ReplicationCounts();
  const filtering = { filterExpression: 'v = 1 AND META().xattrs.own.a = 1 AND META().id = "k"' };
  const value = withXattrs({ own: '{"a":1}', txn: '{"id":1}' }, '{"v":1}');
  const other = withXattrs({ own: '{"a":2}' }, '{"v":1}');
  const datatype = Datatype.json | Datatype.xattr;
  const compressed = snappyCompress(value, 0, value.length);
  assert.notEqual(sent({ value, datatype }, filtering, counts), null);
  assert.notEqual(sent({ value: compressed, datatype: datatype | Datatype.snappy }, filtering, counts), null);
  for (const kind of ['deletion', 'expiration'] as const)
    assert.notEqual(sent({ kind, value: Buffer.alloc(0), datatype: 0 }, filtering, counts), null);
  assert.deepEqual(counts.byName, {});
  assert.equal(sent({ value: other, datatype }, filtering, counts), null);
  assert.equal(sent({ value: Buffer.from('{"v":1}') }, filtering, counts), null);
  assert.equal(sent({ value, datatype, key: 'x' }, filtering, counts), null);
  assert.deepEqual(counts.byName, {
    docs_filtered: 3,
    set_filtered: 3,
    docs_filtered_on_user_defined_filter: 3,
  });
  assert.equal(sent({ value: Buffer.from('[1]') }, filtering, counts), null);
  assert.deepEqual([counts.get('docs_unable_to_filter'), counts.get('docs_filtered')], [1, 3]);
});

test('only those deletions and expirations whose keys the expression matches are sent, with the settings for that', () => {
  const filterExpression = 'META().id = "k"';
  for (const [kind, leavesOut, applies, counter] of [
    ['deletion', 'filterDeletion', 'filterDeletionsWithExpression', 'deletion_filtered'],
    ['expiration', 'filterExpiration', 'filterExpirationsWithExpression', 'expiry_filtered'],
  ] as const) {
    const counts = new ReplicationCounts();
    const isSent = (key: string, more: Partial<DataPathSettings>) =>
      sent({ kind, key, value: Buffer.alloc(0), datatype: 0 }, { filterExpression, ...more }, counts) !==
      null;
    assert.deepEqual(
      ['k', 'x'].map((key) => isSent(key, { [leavesOut]: true, [applies]: true })),
      [true, false],
    );
    assert.deepEqual(counts.byName, {
      docs_filtered: 1,
      [counter]: 1,
      docs_filtered_on_user_defined_filter: 1,
    });
    assert.equal(isSent('k', { [leavesOut]: true }), false);
    assert.equal(isSent('x', {}), true);
  }
});

test('values are compressed where that makes them smaller', () => {
  const value = Buffer.from(JSON.stringify({ text: 'x'.repeat(1000) }));
  const packed = sent({ value }, { compressionType: 'Auto' });
  assert.ok(packed && packed.value.length < 200);
  assert.equal(packed.datatype, Datatype.json | Datatype.snappy);
  assert.deepEqual(snappyInflate(packed.value, 0, packed.value.length, 10_000), value);
  const counts = new ReplicationCounts();
  const incompressible = Buffer.from(
    Array.from({ length: 200 }, (_, index) => (index * 7919 + index * index * 31) % 256),
  );
  const datatype = Datatype.raw;
  const plain = sent({ value: incompressible, datatype }, { compressionType: 'Auto' }, counts);
  assert.deepEqual(plain, { value: incompressible, datatype });
  assert.equal(counts.get('docs_compression_skipped'), 1);
  assert.equal(sent({ value }, { compressionType: 'None' })?.value.length, value.length);
});
