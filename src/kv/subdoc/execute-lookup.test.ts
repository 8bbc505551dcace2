import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype } from '#wire/status.ts';
import { DocFlag, SubdocOpcode as Op, PathFlag } from '#wire/subdoc-opcodes.ts';
import {
  aContext,
  aDocument,
  aDocumentWithXattrs,
  aLookupSpec,
  allFeatures,
  noDocument,
} from '../../../test/support/subdoc.ts';
import { crc32c } from '../value/crc32c.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';
import { executeLookup } from './execute.ts';
import { decodeMultiLookup, decodeSingle } from './specs.ts';

const { xattr, binary } = PathFlag;
type Spec = [opcode: number, path: string, flags?: number];

/** The overall status, then the value of each operation, or its status if it failed. */
function lookedUp(
  doc: SubdocDocument,
  specs: Spec[],
  docFlags = 0,
  context: SubdocContext = aContext(),
): string[] {
  const value = Buffer.concat(specs.map(([opcode, path, flags]) => aLookupSpec(opcode, path, flags)));
  const request = decodeMultiLookup(Buffer.from([docFlags]), value, { features: allFeatures, hasCas: false });
  assert.ok(typeof request !== 'number', `decoded: ${request}`);
  const { status, results } = executeLookup(doc, request, context);
  const values = results.map((r) => (r.status === 0 ? r.value.toString() : r.status.toString(16)));
  return [status.toString(16), ...values];
}

function lookedUpSingle(
  doc: SubdocDocument,
  opcode: number,
  path: string,
  flags = 0,
  docFlags = 0,
): string[] {
  const extras = Buffer.from([0, path.length, flags, docFlags]);
  const request = decodeSingle(opcode, extras, Buffer.from(path), { features: allFeatures, hasCas: false });
  assert.ok(typeof request !== 'number', `decoded: ${request}`);
  const { status, results } = executeLookup(doc, request, aContext());
  return [status.toString(16), ...results.map((r) => r.value.toString())];
}

const tombstone = aDocumentWithXattrs({ _sys: '{"a":1}', user: '2' }, '', { isDeleted: true });

test('a lookup has a result for each operation', () => {
  const doc = aDocument({ value: Buffer.from('{"a": 1, "b":[2,3]}') });
  assert.deepEqual(lookedUp(doc, [[Op.get, 'a']]), ['0', '1']);
  const specs: Spec[] = [
    [Op.get, 'b[1]'],
    [Op.exists, 'a'],
    [Op.getCount, 'b'],
    [Op.getDoc, ''],
  ];
  assert.deepEqual(lookedUp(doc, specs), ['0', '3', '', '2', '{"a": 1, "b":[2,3]}']);
  const failing: Spec[] = [
    [Op.get, 'a'],
    [Op.get, 'x'],
    [Op.get, 'a.b'],
    [Op.get, 'a..b'],
    [Op.exists, 'x'],
  ];
  assert.deepEqual(lookedUp(doc, failing), ['cc', '1', 'c0', 'c1', 'c2', 'c0']);
});

test('the failure of a single-path lookup is its overall status', () => {
  assert.deepEqual(lookedUpSingle(aDocument(), Op.get, 'a'), ['0', '1']);
  assert.deepEqual(lookedUpSingle(aDocument(), Op.get, 'x'), ['c0', '']);
  assert.deepEqual(lookedUpSingle(aDocument({ datatype: 0 }), Op.exists, 'a'), ['c6', '']);
  assert.deepEqual(lookedUpSingle(noDocument, Op.get, 'a'), ['1']);
  assert.deepEqual(lookedUpSingle(tombstone, Op.get, 'user', xattr), ['1']);
  assert.deepEqual(lookedUpSingle(tombstone, Op.get, 'user', xattr, DocFlag.accessDeleted), ['cd', '2']);
  assert.deepEqual(lookedUpSingle(tombstone, Op.get, 'none', xattr, DocFlag.accessDeleted), ['c0', '']);
});

test('a lookup reports a missing document, and finds a tombstone only with the flag access_deleted', () => {
  const specs: Spec[] = [
    [Op.get, '_sys.a', xattr],
    [Op.get, 'user', xattr],
  ];
  assert.deepEqual(lookedUp(noDocument, specs, DocFlag.accessDeleted), ['1']);
  assert.deepEqual(lookedUp(tombstone, specs), ['1']);
  assert.deepEqual(lookedUp(tombstone, specs, DocFlag.accessDeleted), ['cd', '1', '2']);
  const more: Spec[] = [...specs, [Op.getDoc, ''], [Op.get, 'a']];
  assert.deepEqual(lookedUp(tombstone, more, DocFlag.accessDeleted), ['d3', '1', '2', 'c0', 'c6']);
  assert.deepEqual(lookedUp(aDocument(), [[Op.get, 'a']], DocFlag.accessDeleted), ['0', '1']);
});

test('a whole body may be of any type; paths lead only into JSON', () => {
  const raw = aDocument({ datatype: 0, value: Buffer.from([0, 255]) });
  assert.deepEqual(lookedUp(raw, [[Op.getDoc, '']]), ['0', '\0�']);
  assert.deepEqual(
    lookedUp(raw, [
      [Op.getDoc, ''],
      [Op.get, 'a'],
    ]),
    ['cc', '\0�', 'c6'],
  );
  assert.deepEqual(lookedUp(aDocument({ datatype: 0, value: Buffer.alloc(0) }), [[Op.getDoc, '']]), [
    '0',
    '',
  ]);
  const both = aDocumentWithXattrs({ x: '{"y":[1]}' }, '[5]');
  const specs: Spec[] = [
    [Op.get, 'x.y[0]', xattr],
    [Op.getCount, 'x.y', xattr],
    [Op.get, '[0]'],
    [Op.getDoc, ''],
  ];
  assert.deepEqual(lookedUp(both, specs), ['0', '1', '1', '5', '[5]']);
});

test('xattrs are read by key and path', () => {
  const doc = aDocumentWithXattrs({ x: '{"y":[1]}', n: '1' });
  const rows: [string, string][] = [
    ['x', '{"y":[1]}'],
    ['x.y', '[1]'],
    ['n', '1'],
    ['m', 'c0'],
    ['x.z', 'c0'],
    ['n.a', 'c1'],
    ['x.y[', 'c2'],
  ];
  for (const [path, expected] of rows)
    assert.equal(lookedUp(doc, [[Op.get, path, xattr]])[1], expected, path);
  assert.deepEqual(lookedUp(aDocument(), [[Op.exists, 'x', xattr]]), ['cc', 'c0']);
});

test('binary xattrs are decoded if the operation has the flag for binary values', () => {
  const doc = aDocumentWithXattrs({
    x: '{"b":"cb-content-base64-encoded:AP8=","s":"text","bad":"cb-content-base64-encoded:*"}',
  });
  assert.deepEqual(lookedUp(doc, [[Op.get, 'x.b', xattr | binary]]), ['0', '\0�']);
  assert.deepEqual(lookedUp(doc, [[Op.get, 'x.b', xattr]]), ['0', '"cb-content-base64-encoded:AP8="']);
  for (const path of ['x', 'x.s', 'x.bad']) {
    assert.deepEqual(lookedUp(doc, [[Op.get, path, xattr | binary]]), ['cc', 'd8'], path);
  }
});

test('$document has the metadata of the document', () => {
  const body = '{"a":1}';
  const sum = crc32c(Buffer.from(body), 0, body.length).toString(16).padStart(8, '0');
  const doc = aDocumentWithXattrs({ x: '1' }, body, {
    datatype: Datatype.json | Datatype.snappy | Datatype.xattr,
    expiry: 1234,
    seqno: 2 ** 32 + 5,
  });
  const expected = {
    CAS: '0x1700000000010000',
    datatype: ['snappy', 'json', 'xattr'],
    deleted: false,
    exptime: 1234,
    flags: 0x02000006,
    last_modified: '1700000000',
    revid: '3',
    seqno: '0x0000000100000005',
    value_bytes: 7,
    value_crc32c: `0x${sum}`,
    vbucket_uuid: '0xaaaa00000000bbbb',
  };
  const documentText = lookedUp(doc, [[Op.get, '$document', xattr]])[1] as string;
  assert.deepEqual(JSON.parse(documentText), expected);
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual(lookedUp(doc, [[Op.get, `$document.${name}`, xattr]]), ['0', JSON.stringify(value)]);
  }
  assert.deepEqual(lookedUp(doc, [[Op.get, '$document.unknown', xattr]]), ['cc', 'c0']);
  assert.deepEqual(lookedUp(doc, [[Op.getCount, '$document', xattr]]), ['0', '11']);
  assert.equal(lookedUp(aDocument({ datatype: 0 }), [[Op.get, '$document.datatype', xattr]])[1], '["raw"]');
  const dead = lookedUp(tombstone, [[Op.get, '$document.deleted', xattr]], DocFlag.accessDeleted);
  assert.deepEqual(dead, ['cd', 'true']);
});

test('$XTOC lists the keys of xattrs, those of the system only for users who may read them', () => {
  const doc = aDocumentWithXattrs({ x: '1', _s: '2', y: '3' });
  const toc: Spec[] = [[Op.get, '$XTOC', xattr]];
  assert.deepEqual(lookedUp(doc, toc), ['0', '["x","_s","y"]']);
  assert.deepEqual(lookedUp(doc, toc, 0, aContext({ mayReadSystemXattrs: false })), ['0', '["x","y"]']);
  assert.deepEqual(lookedUp(aDocument(), toc), ['0', '[]']);
});

test('$vbucket has the time of the clock and its mode', () => {
  const hlc = (context: SubdocContext) =>
    lookedUp(aDocument(), [[Op.get, '$vbucket.HLC', xattr]], 0, context)[1] ?? '';
  assert.deepEqual(JSON.parse(hlc(aContext())), { now: '1700000123', mode: 'real' });
  assert.deepEqual(JSON.parse(hlc(aContext({ hlcMode: 'logical' }))), { now: '1700000123', mode: 'logical' });
});

test('the paths into system xattrs are refused to users without the privilege, other paths are not', () => {
  const doc = aDocumentWithXattrs({ x: '1', _s: '2' });
  const context = aContext({ mayReadSystemXattrs: false });
  assert.deepEqual(lookedUp(doc, [[Op.get, 'x', xattr]], 0, context), ['0', '1']);
  assert.deepEqual(
    lookedUp(
      doc,
      [
        [Op.get, 'x', xattr],
        [Op.get, '_s.a', xattr],
      ],
      0,
      context,
    ),
    ['cc', '1', '24'],
  );
  assert.deepEqual(lookedUp(doc, [[Op.exists, '_none', xattr]], 0, context), ['cc', '24']);
});

test('documents are read where buckets store them: in shared memory', () => {
  const { value } = aDocumentWithXattrs({ x: '{"é":[1]}' }, '{"\\u00e9":"€"}');
  const page = Buffer.from(new SharedArrayBuffer(value.length + 20), 10, value.length);
  value.copy(page);
  const doc = aDocument({ datatype: Datatype.json | Datatype.xattr, value: page });
  assert.deepEqual(
    lookedUp(doc, [
      [Op.getCount, 'x', xattr],
      [Op.get, '$XTOC', xattr],
    ]),
    ['0', '1', '["x"]'],
  );
  assert.deepEqual(
    lookedUp(doc, [
      [Op.getDoc, ''],
      [Op.getCount, ''],
    ]),
    ['0', '{"\\u00e9":"€"}', '1'],
  );
});
