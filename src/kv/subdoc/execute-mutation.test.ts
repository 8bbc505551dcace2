import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode as Op, PathFlag } from '#wire/subdoc-opcodes.ts';
import { aContext, aDocument, aDocumentWithXattrs, noDocument } from '../../../test/support/subdoc.ts';
import { aMutation, mutationText } from '../../../test/support/subdoc-mutation.ts';
import { crc32c } from '../value/crc32c.ts';
import { bodyBytesMax, xattrBytesMax } from '../value/xattrs.ts';
import type { SubdocDocument } from './document.ts';

const { xattr, mkdirP, expandMacros, binary } = PathFlag;
const { mkdoc, add, accessDeleted, createAsDeleted, revive } = DocFlag;
const tombstone = aDocumentWithXattrs({ _sys: '{"a":1}', user: '2' }, '', { isDeleted: true });
const macro = (name: string) => `"\${${name}}"`;

test('a mutation of the body changes nothing else of the document', () => {
  const doc = aDocumentWithXattrs({ x: '1' }, '{"a": 1.0, "b":2}');
  const outcome = aMutation(doc, [
    [Op.dictUpsert, 'c', '3'],
    [Op.delete, 'b', ''],
  ]);
  assert.deepEqual(mutationText(outcome), { status: '0', xattrs: { x: '1' }, body: '{"a": 1.0, "c":3}' });
  assert.equal(outcome.datatype, Datatype.json | Datatype.xattr);
  assert.equal(outcome.flags, 0x02000006);
  assert.equal(outcome.isDeleted, false);
  assert.equal(outcome.isCreated, false);
});

test('the numbers of counters are returned with the positions of their operations', () => {
  const specs: [number, string, string, number?][] = [
    [Op.counter, 'n', '5', xattr],
    [Op.dictUpsert, 'b', '1'],
    [Op.counter, 'a', '41'],
  ];
  const outcome = aMutation(aDocument(), specs);
  assert.deepEqual(
    outcome.values.map(({ index, value }) => [index, value.toString()]),
    [
      [0, '5'],
      [2, '42'],
    ],
  );
  assert.deepEqual(mutationText(outcome), { status: '0', xattrs: { n: '5' }, body: '{"a":42,"b":1}' });
});

test('nothing is stored if one operation fails, and the first one that failed is named', () => {
  const outcome = aMutation(aDocument(), [
    [Op.dictUpsert, 'b', '1'],
    [Op.dictAdd, 'a', '2'],
    [Op.delete, 'x', ''],
  ]);
  assert.deepEqual(
    [outcome.status, outcome.failedIndex, outcome.failedStatus],
    [Status.subdocMultiPathFailure, 1, Status.subdocPathExists],
  );
  assert.equal(outcome.value.length, 0);
  const first = aMutation(aDocument(), [
    [Op.delete, 'x', '', xattr],
    [Op.delete, 'y', ''],
  ]);
  assert.deepEqual(
    [first.status, first.failedIndex, first.failedStatus],
    [Status.subdocMultiPathFailure, 0, Status.subdocPathNotFound],
  );
  const single = aMutation(aDocument(), [[Op.dictAdd, 'a', '2']], { single: true });
  assert.equal(single.status, Status.subdocPathExists);
});

test('a mutation of a missing document fails, unless its flags allow it to create the document', () => {
  const put: [number, string, string][] = [[Op.dictUpsert, 'a.b', '1']];
  assert.equal(aMutation(noDocument, put).status, Status.keyNotFound);
  assert.equal(aMutation(noDocument, put, { docFlags: accessDeleted }).status, Status.keyNotFound);
  assert.equal(aMutation(tombstone, put).status, Status.keyNotFound);
  assert.equal(aMutation(aDocument(), put, { docFlags: add }).status, 2);
  for (const docFlags of [add, mkdoc]) {
    for (const doc of [noDocument, tombstone]) {
      const outcome = aMutation(doc, put, { docFlags });
      assert.deepEqual(mutationText(outcome), { status: '0', xattrs: {}, body: '{"a":{"b":1}}' });
      assert.deepEqual(
        [outcome.isCreated, outcome.isDeleted, outcome.flags, outcome.datatype],
        [true, false, 0, 1],
      );
    }
  }
  assert.equal(
    mutationText(aMutation(aDocument(), [[Op.dictUpsert, 'b', '1']], { docFlags: mkdoc })).body,
    '{"a":1,"b":1}',
  );
  assert.equal(
    aMutation(tombstone, put, { docFlags: add | accessDeleted }).status,
    2,
    'add sees the tombstone',
  );
});

test('a new document is an object or an array, as its first path requires', () => {
  const mutate = (opcode: number, path: string, value: string) =>
    mutationText(aMutation(noDocument, [[opcode, path, value]], { docFlags: mkdoc }));
  assert.equal(mutate(Op.pushLast, '', '1').body, '[1]');
  assert.equal(mutate(Op.addUnique, '', '1').body, '[1]');
  assert.equal(mutate(Op.arrayInsert, '[0]', '1').body, '[1]');
  assert.equal(mutate(Op.pushLast, 'a', '1').body, '{"a":[1]}');
  assert.equal(mutate(Op.counter, 'a', '1').body, '{"a":1}');
  const inXattr = aMutation(noDocument, [[Op.dictUpsert, 'x', '1', xattr]], { docFlags: mkdoc });
  assert.deepEqual(mutationText(inXattr), { status: '0', xattrs: { x: '1' }, body: '{}' });
});

test('a mutation keeps the user flags, or sets those of the request', () => {
  assert.equal(aMutation(aDocument(), [[Op.dictUpsert, 'b', '1']], { userFlags: 9 }).flags, 9);
  assert.equal(aMutation(noDocument, [[Op.setDoc, '', '1']], { userFlags: 9, docFlags: mkdoc }).flags, 9);
});

test('whole bodies are written and deleted, JSON or not', () => {
  const set = aMutation(aDocument(), [[Op.setDoc, '', '\0']]);
  assert.deepEqual([mutationText(set).body, set.datatype], ['\0', 0]);
  assert.equal(
    aMutation(aDocument({ datatype: Datatype.raw }), [[Op.setDoc, '', '[1]']]).datatype,
    Datatype.json,
  );
  const then = aMutation(aDocument({ datatype: Datatype.raw }), [
    [Op.setDoc, '', '{}'],
    [Op.dictAdd, 'a', '1'],
  ]);
  assert.equal(mutationText(then).body, '{"a":1}');
  assert.equal(
    aMutation(aDocument({ datatype: Datatype.raw }), [[Op.dictAdd, 'b', '1']]).failedStatus,
    Status.subdocDocNotJson,
  );
  const doc = aDocumentWithXattrs({ user: '1', _s: '2' });
  const removed = aMutation(doc, [
    [Op.dictUpsert, '_t', '3', xattr],
    [Op.deleteDoc, '', ''],
  ]);
  assert.deepEqual(mutationText(removed), { status: '0', xattrs: { _s: '2', _t: '3' }, body: '' });
  assert.deepEqual([removed.isDeleted, removed.datatype], [true, 4]);
  const plain = aMutation(aDocument(), [[Op.deleteDoc, '', '']]);
  assert.deepEqual([plain.isDeleted, plain.datatype, plain.value.length], [true, 0, 0]);
});

test('xattrs are created, changed and removed', () => {
  const doc = aDocumentWithXattrs({ x: '{"y":1}', z: '[1]' });
  const rows: [[number, string, string, number], Record<string, string> | string][] = [
    [[Op.dictUpsert, 'x.y', '2', xattr], { x: '{"y":2}', z: '[1]' }],
    [[Op.dictAdd, 'n', ' {} ', xattr], { x: '{"y":1}', z: '[1]', n: '{}' }],
    [[Op.dictAdd, 'x', '1', xattr], 'c9'],
    [[Op.dictUpsert, 'n.a.b', '1', xattr | mkdirP], { x: '{"y":1}', z: '[1]', n: '{"a":{"b":1}}' }],
    [[Op.dictUpsert, 'n.a.b', '1', xattr], 'c0'],
    [[Op.delete, 'x', '', xattr], { z: '[1]' }],
    [[Op.delete, 'x.y', '', xattr], { x: '{}', z: '[1]' }],
    [[Op.delete, 'none', '', xattr], 'c0'],
    [[Op.replace, 'x', '"r"', xattr], { x: '"r"', z: '[1]' }],
    [[Op.pushLast, 'z', '2,3', xattr], { x: '{"y":1}', z: '[1,2,3]' }],
    [[Op.pushFirst, 'w', '2', xattr | mkdirP], { x: '{"y":1}', z: '[1]', w: '[2]' }],
    [[Op.arrayInsert, 'z[0]', '0', xattr], { x: '{"y":1}', z: '[0,1]' }],
    [[Op.addUnique, 'z', '1', xattr], 'c9'],
    [[Op.counter, 'x.y', '1', xattr], { x: '{"y":2}', z: '[1]' }],
    [[Op.dictUpsert, 'x', 'nope', xattr], 'c5'],
  ];
  for (const [spec, expected] of rows) {
    const outcome = aMutation(doc, [spec]);
    if (typeof expected === 'string') assert.equal(outcome.failedStatus.toString(16), expected, `${spec}`);
    else
      assert.deepEqual(mutationText(outcome), { status: '0', xattrs: expected, body: '{"a":1}' }, `${spec}`);
  }
  const none = aMutation(aDocumentWithXattrs({ x: '1' }), [[Op.delete, 'x', '', xattr]]);
  assert.deepEqual([none.datatype, none.value.toString()], [1, '{"a":1}']);
});

test('macros are expanded, in nested places too', () => {
  const specs: [number, string, string, number][] = [
    [Op.dictUpsert, 'x.cas', macro('Mutation.CAS'), xattr | expandMacros | mkdirP],
    [Op.dictUpsert, 'x.seqno', macro('Mutation.seqno'), xattr | expandMacros],
    [Op.dictUpsert, 'x.sum', macro('Mutation.value_crc32c'), xattr | expandMacros],
    [Op.dictUpsert, 'x.old', macro('$document.CAS'), xattr | expandMacros],
    [Op.dictUpsert, 'x.bytes', macro('$document.value_bytes'), xattr | expandMacros],
    [Op.pushLast, 'x.list', macro('Mutation.value_crc32c'), xattr | expandMacros | mkdirP],
    [Op.counter, 'x.n', '1', xattr],
  ];
  const outcome = aMutation(aDocument(), [...specs, [Op.setDoc, '', '{"new":true}']]);
  const sum = `0x${crc32c(Buffer.from('{"new":true}'), 0, 12).toString(16).padStart(8, '0')}`;
  const { xattrs, body } = mutationText(outcome);
  assert.equal(body, '{"new":true}');
  assert.deepEqual(JSON.parse(xattrs['x'] ?? ''), {
    cas: '0x0807060504030201',
    seqno: '0x0000000100000002',
    sum,
    old: '0x1700000000010000',
    bytes: 7,
    list: [sum],
    n: 1,
  });
  assert.equal(outcome.values.length, 1);
  const expanded = aMutation(aDocument(), [[Op.dictUpsert, 'x', macro('$document'), xattr | expandMacros]]);
  assert.equal(JSON.parse(mutationText(expanded).xattrs['x'] ?? '').revid, '3');
  const unknown = aMutation(aDocument(), [[Op.dictUpsert, 'x', macro('$document.no'), xattr | expandMacros]]);
  assert.equal(unknown.failedStatus, Status.subdocXattrUnknownVattrMacro);
  const literal = aMutation(aDocument(), [[Op.dictUpsert, 'x', macro('Mutation.CAS'), xattr]]);
  assert.equal(mutationText(literal).xattrs['x'], macro('Mutation.CAS'));
});

test('macros read nothing of a document that the request does not see', () => {
  const specs: [number, string, string, number][] = [
    [Op.dictUpsert, 'x', macro('$document'), xattr | expandMacros],
  ];
  const fieldsOf = (doc: SubdocDocument) =>
    JSON.parse(mutationText(aMutation(doc, specs, { docFlags: mkdoc })).xattrs['x'] ?? '');
  // A missing document has fields of an earlier request's document.
  for (const doc of [aDocument({ exists: false, value: noDocument.value }), tombstone]) {
    const { CAS, deleted, flags, revid, value_bytes } = fieldsOf(doc);
    assert.deepEqual(
      { CAS, deleted, flags, revid, value_bytes },
      { CAS: '0x0000000000000000', deleted: false, flags: 0, revid: '0', value_bytes: 0 },
    );
  }
});

test('binary values of xattrs are stored as prefixed strings, and decoded when they become the body', () => {
  const bytes = Buffer.from([0, 255, 34]);
  const stored = aMutation(aDocument(), [[Op.dictUpsert, 'x.b', bytes, xattr | binary | mkdirP]]);
  assert.equal(mutationText(stored).xattrs['x'], '{"b":"cb-content-base64-encoded:AP8i"}');
  const doc = aDocument({ value: stored.value, datatype: stored.datatype });
  const swapped = aMutation(doc, [
    [Op.replaceBodyWithXattr, 'x.b', '', xattr | binary],
    [Op.delete, 'x', '', xattr],
  ]);
  assert.deepEqual([swapped.value, swapped.datatype], [bytes, 0]);
  const json = aMutation(aDocumentWithXattrs({ x: '{"b":[1]}' }), [
    [Op.replaceBodyWithXattr, 'x.b', '', xattr],
  ]);
  assert.deepEqual([mutationText(json).body, json.datatype], ['[1]', 5]);
  const missing = aMutation(aDocument(), [[Op.replaceBodyWithXattr, 'x.b', '', xattr]], { single: true });
  assert.equal(missing.status, Status.subdocPathNotFound);
  const text = aMutation(aDocumentWithXattrs({ x: '"t"' }), [
    [Op.replaceBodyWithXattr, 'x', '', xattr | binary],
  ]);
  assert.equal(text.failedStatus, Status.subdocNotBinaryValue);
});

test('replaceBodyWithXattr stores the new body, and the checksum macro of the same request the checksum of that body', () => {
  const doc = aDocumentWithXattrs({ x: '[1]' });
  const outcome = aMutation(doc, [
    [Op.dictUpsert, 's', macro('Mutation.value_crc32c'), xattr | expandMacros],
    [Op.replaceBodyWithXattr, 'x', '', xattr],
    [Op.pushLast, '', '2'],
  ]);
  const sum = crc32c(Buffer.from('[1,2]'), 0, 5).toString(16).padStart(8, '0');
  assert.deepEqual(mutationText(outcome), {
    status: '0',
    xattrs: { x: '[1]', s: `"0x${sum}"` },
    body: '[1,2]',
  });
});

test('a document that is created as deleted has xattrs only', () => {
  const stage: [number, string, string, number][] = [[Op.dictUpsert, 'txn.op', '"i"', xattr | mkdirP]];
  for (const docFlags of [createAsDeleted | add, createAsDeleted | mkdoc | accessDeleted]) {
    const outcome = aMutation(noDocument, stage, { docFlags });
    assert.deepEqual(mutationText(outcome), { status: 'cd', xattrs: { txn: '{"op":"i"}' }, body: '' });
    assert.deepEqual([outcome.isDeleted, outcome.isCreated, outcome.datatype], [true, true, 4]);
  }
  for (const spec of [
    [Op.setDoc, '', '1'],
    [Op.dictUpsert, 'a', '1'],
  ] as [number, string, string][]) {
    const outcome = aMutation(noDocument, [...stage, spec], { docFlags: createAsDeleted | mkdoc });
    assert.equal(outcome.status, Status.subdocDeletedDocCantHaveValue);
  }
  for (const doc of [aDocument(), tombstone])
    assert.equal(aMutation(doc, stage, { docFlags: createAsDeleted | add }).status, 2);
});

test('tombstones are changed and revived', () => {
  const touch: [number, string, string, number][] = [[Op.dictUpsert, 'user', '3', xattr]];
  const still = aMutation(tombstone, touch, { docFlags: accessDeleted });
  assert.deepEqual(mutationText(still), { status: 'cd', xattrs: { _sys: '{"a":1}', user: '3' }, body: '' });
  assert.deepEqual([still.isDeleted, still.isCreated], [true, false]);
  assert.equal(
    aMutation(tombstone, [[Op.setDoc, '', '1']], { docFlags: accessDeleted }).status,
    Status.subdocDeletedDocCantHaveValue,
  );
  assert.equal(
    aMutation(tombstone, [[Op.dictAdd, 'a', '1']], { docFlags: accessDeleted }).failedStatus,
    Status.subdocDocNotJson,
  );
  const live = aMutation(tombstone, [...touch, [Op.setDoc, '', '{}']], { docFlags: accessDeleted | revive });
  assert.deepEqual(mutationText(live), { status: '0', xattrs: { _sys: '{"a":1}', user: '3' }, body: '{}' });
  assert.deepEqual([live.isDeleted, live.datatype], [false, Datatype.json | Datatype.xattr]);
  const rooted = aMutation(tombstone, [[Op.dictAdd, 'a', '1']], { docFlags: accessDeleted | revive });
  assert.equal(mutationText(rooted).body, '{"a":1}');
  assert.equal(
    aMutation(aDocument(), touch, { docFlags: accessDeleted | revive }).status,
    Status.subdocCanOnlyReviveDeleted,
  );
  assert.equal(aMutation(noDocument, touch, { docFlags: accessDeleted | revive }).status, Status.keyNotFound);
});

test('system xattrs are changed only with the privilege', () => {
  const context = aContext({ mayWriteSystemXattrs: false });
  const on = (key: string, opcode: number, using = context) => {
    const value = opcode === Op.dictUpsert ? '1' : '';
    const outcome = aMutation(
      aDocumentWithXattrs({ _s: '1', u: '2' }),
      [
        [Op.dictUpsert, 'u', '3', xattr],
        [opcode, key, value, xattr],
      ],
      { context: using },
    );
    if (outcome.status !== Status.subdocMultiPathFailure) return outcome.status;
    assert.equal(outcome.failedIndex, 1);
    return outcome.failedStatus;
  };
  assert.equal(on('_s', Op.dictUpsert), Status.noAccess);
  assert.equal(on('_s', Op.delete), Status.noAccess);
  assert.equal(on('u', Op.dictUpsert), Status.success);
  assert.equal(on('_s', Op.replaceBodyWithXattr), Status.success, 'only reads it');
  assert.equal(on('_s', Op.replaceBodyWithXattr, aContext({ mayReadSystemXattrs: false })), Status.noAccess);
});

test('bodies and xattrs above their limits are refused, and accepted at the limit', () => {
  const body = (length: number) =>
    aMutation(aDocument(), [[Op.setDoc, '', Buffer.alloc(length, 'x')]]).status;
  assert.equal(body(bodyBytesMax), Status.success);
  assert.equal(body(bodyBytesMax + 1), Status.tooBig);
  const full = aDocument({ value: Buffer.alloc(bodyBytesMax, 'x'), datatype: Datatype.raw });
  assert.equal(aMutation(full, [[Op.dictUpsert, '_x', '1', xattr]]).status, Status.success);
  assert.equal(aMutation(full, [[Op.dictUpsert, 'x', '1', xattr]]).status, Status.tooBig);
  const put = (key: string, length: number) =>
    aMutation(aDocument(), [[Op.dictUpsert, key, `"${'y'.repeat(length)}"`, xattr]]).status;
  const pairBytes = 4 + 4 + '_x'.length + 2 + 2;
  assert.equal(put('_x', xattrBytesMax - pairBytes), Status.success);
  assert.equal(put('_x', xattrBytesMax - pairBytes + 1), Status.tooBig);
  const otherBytes = 4 + 'x'.length + 2 + 2 + aDocument().value.length;
  assert.equal(put('x', bodyBytesMax - otherBytes), Status.success, 'user xattrs count with the body');
  assert.equal(put('x', bodyBytesMax - otherBytes + 1), Status.tooBig);
});

test('the new value is never a view of the stored value', () => {
  const doc = aDocumentWithXattrs({ x: '1' });
  const outcome = aMutation(doc, [[Op.delete, 'x', '', xattr]]);
  doc.value.fill(0);
  assert.equal(outcome.value.toString(), '{"a":1}');
});
