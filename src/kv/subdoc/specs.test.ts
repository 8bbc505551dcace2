import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode as Op, PathFlag } from '#wire/subdoc-opcodes.ts';
import { aSeed, randomBytes } from '../../../test/support/random.ts';
import { aLookupSpec, allFeatures, aMutationSpec, noFeatures } from '../../../test/support/subdoc.ts';
import type { SubdocRequest } from './request.ts';
import { decodeMultiLookup, decodeMultiMutation, decodeSingle, specsMax } from './specs.ts';

const context = { features: allFeatures, hasCas: false };
const { xattr, mkdirP, expandMacros, binary } = PathFlag;
const bytes = (text: string) => Buffer.from(text, 'latin1');

const statusOf = (decoded: SubdocRequest | Status) =>
  typeof decoded === 'number' ? decoded.toString(16) : 'ok';

function lookup(specs: Buffer[], docFlags: number | null = null, using = context): string {
  const extras = docFlags === null ? Buffer.alloc(0) : Buffer.from([docFlags]);
  return statusOf(decodeMultiLookup(extras, Buffer.concat(specs), using));
}

function mutation(specs: Buffer[], docFlags: number | null = null, using = context): string {
  const extras = docFlags === null ? Buffer.alloc(0) : Buffer.from([docFlags]);
  return statusOf(decodeMultiMutation(extras, Buffer.concat(specs), using));
}

function single(
  opcode: number,
  flags: number,
  path: string,
  value: string,
  docFlags = 0,
  using = context,
): string {
  const extras = Buffer.from([path.length >> 8, path.length & 0xff, flags, docFlags]);
  return statusOf(decodeSingle(opcode, extras, bytes(path + value), using));
}

test('the specs of a multi-path lookup are read one by one', () => {
  const value = Buffer.concat([
    aLookupSpec(Op.get, 'txn.id', xattr),
    aLookupSpec(Op.exists, 'a'),
    aLookupSpec(Op.getDoc, ''),
  ]);
  const decoded = decodeMultiLookup(Buffer.from([DocFlag.accessDeleted]), value, context);
  assert.ok(typeof decoded !== 'number');
  assert.equal(decoded.docFlags, DocFlag.accessDeleted);
  assert.equal(decoded.hasSinglePath, false);
  const specs = decoded.specs.map((s) => [s.opcode, s.flags, s.path.toString(), s.xattrKey.toString()]);
  assert.deepEqual(specs, [
    [Op.get, xattr, 'txn.id', 'txn'],
    [Op.exists, 0, 'a', ''],
    [Op.getDoc, 0, '', ''],
  ]);
});

test('extras of each length are read: expiry, user flags, document flags', () => {
  const spec = aMutationSpec(Op.dictUpsert, 'a', '1');
  const read = (hex: string) => {
    const decoded = decodeMultiMutation(Buffer.from(hex, 'hex'), spec, context);
    return typeof decoded === 'number' ? decoded : [decoded.expiry, decoded.userFlags, decoded.docFlags];
  };
  assert.deepEqual(read(''), [0, null, 0]);
  assert.deepEqual(read('01'), [0, null, 1]);
  assert.deepEqual(read('00000005'), [5, null, 0]);
  assert.deepEqual(read('ffffffff02'), [0xffffffff, null, 2]);
  assert.deepEqual(read('0000000502000006'), [5, 0x02000006, 0]);
  assert.deepEqual(read('000000050200000601'), [5, 0x02000006, 1]);
  for (const length of [2, 3, 6, 7, 10, 12, 255])
    assert.equal(read('00'.repeat(length)), Status.invalidArguments);
});

test('single-path requests are decoded with each length of extras', () => {
  const read = (opcode: number, hex: string, value: string) => {
    const decoded = decodeSingle(opcode, Buffer.from(hex, 'hex'), bytes(value), context);
    if (typeof decoded === 'number') return decoded;
    const spec = decoded.specs[0];
    assert.ok(decoded.hasSinglePath && spec && decoded.specs.length === 1);
    return [
      spec.path.toString(),
      spec.value.toString(),
      spec.flags,
      decoded.expiry,
      decoded.userFlags,
      decoded.docFlags,
    ];
  };
  assert.deepEqual(read(Op.get, '000300', 'a.b'), ['a.b', '', 0, 0, null, 0]);
  assert.deepEqual(read(Op.get, '00030404', 'a.b'), ['a.b', '', 4, 0, null, 4]);
  assert.deepEqual(read(Op.dictAdd, '000101', 'a1'), ['a', '1', 1, 0, null, 0]);
  assert.deepEqual(read(Op.dictAdd, '00010002', 'a1'), ['a', '1', 0, 0, null, 2]);
  assert.deepEqual(read(Op.dictAdd, '00010000000007', 'a1'), ['a', '1', 0, 7, null, 0]);
  assert.deepEqual(read(Op.dictAdd, '0001000000000701', 'a1'), ['a', '1', 0, 7, null, 1]);
  assert.deepEqual(read(Op.dictAdd, '0001000000000700000009', 'a1'), ['a', '1', 0, 7, 9, 0]);
  assert.deepEqual(read(Op.dictAdd, '000100000000070000000901', 'a1'), ['a', '1', 0, 7, 9, 1]);
  for (const length of [0, 1, 2, 5, 6, 9, 10, 13])
    assert.equal(read(Op.dictAdd, '00'.repeat(length), 'a1'), 4);
  for (const length of [7, 8, 11, 12]) assert.equal(read(Op.get, '0001'.padEnd(length * 2, '0'), 'a'), 4);
  assert.equal(read(Op.get, '000400', 'a.b'), 4, 'path longer than the value');
});

test('lookups among mutations and the reverse, unknown operations, no operations and too many are refused', () => {
  assert.equal(lookup([]), 'cb');
  assert.equal(mutation([]), 'cb');
  assert.equal(lookup(Array(specsMax).fill(aLookupSpec(Op.get, 'a'))), 'ok');
  assert.equal(lookup(Array(specsMax + 1).fill(aLookupSpec(Op.get, 'a'))), 'cb');
  assert.equal(mutation(Array(specsMax + 1).fill(aMutationSpec(Op.delete, 'a'))), 'cb');
  assert.equal(lookup([aLookupSpec(Op.dictAdd, 'a')]), 'cb');
  assert.equal(mutation([aMutationSpec(Op.get, 'a')]), 'cb');
  assert.equal(lookup([aLookupSpec(0x77, 'a')]), 'cb');
  assert.equal(lookup([aLookupSpec(Op.multiLookup, 'a')]), 'cb');
  assert.equal(statusOf(decodeSingle(Op.getDoc, Buffer.from('000000', 'hex'), bytes(''), context)), '81');
  assert.equal(statusOf(decodeSingle(0x77, Buffer.from('000000', 'hex'), bytes(''), context)), '81');
});

test('missing and superfluous paths and values are refused, in multi-path and single-path requests', () => {
  const noPath = [Op.dictAdd, Op.dictUpsert, Op.replace, Op.arrayInsert, Op.counter];
  for (const opcode of noPath) {
    assert.equal(mutation([aMutationSpec(opcode, '', '1')]), '4');
    assert.equal(single(opcode, 0, '', '1'), '4');
  }
  for (const opcode of [...noPath, Op.pushFirst, Op.pushLast, Op.addUnique]) {
    assert.equal(mutation([aMutationSpec(opcode, 'a[0]', '')]), '4');
    assert.equal(single(opcode, 0, 'a[0]', ''), '4');
    assert.equal(single(opcode, 0, 'a[0]', '1'), 'ok');
  }
  for (const opcode of [Op.pushFirst, Op.pushLast, Op.addUnique])
    assert.equal(single(opcode, 0, '', '1'), 'ok');
  assert.equal(single(Op.get, 0, '', ''), '4');
  assert.equal(single(Op.exists, 0, '', ''), '4');
  assert.equal(single(Op.getCount, 0, '', ''), 'ok');
  assert.equal(single(Op.get, 0, 'a', 'x'), '4');
  assert.equal(single(Op.delete, 0, 'a', 'x'), '4');
  assert.equal(single(Op.delete, 0, '', ''), '4');
  assert.equal(mutation([aMutationSpec(Op.delete, 'a', 'x')]), '4');
  assert.equal(lookup([aLookupSpec(Op.getDoc, 'a')]), '4');
  assert.equal(mutation([aMutationSpec(Op.setDoc, 'a', '1')]), '4');
  assert.equal(mutation([aMutationSpec(Op.setDoc, '', '')]), '4');
  assert.equal(mutation([aMutationSpec(Op.deleteDoc, '', 'x')]), '4');
  assert.equal(mutation([aMutationSpec(Op.setDoc, '', '\0')]), 'ok');
  assert.equal(lookup([aLookupSpec(Op.get, 'a'.repeat(1025))]), '4');
  assert.equal(single(Op.get, 0, 'a'.repeat(1025), ''), '4');
  assert.equal(single(Op.get, 0, 'a'.repeat(1024), ''), 'ok');
});

test('each operation may have only its own path flags', () => {
  const rows: [number, number][] = [
    [Op.get, xattr | binary],
    [Op.exists, xattr],
    [Op.getCount, xattr],
    [Op.getDoc, 0],
    [Op.dictAdd, mkdirP | xattr | expandMacros | binary],
    [Op.dictUpsert, mkdirP | xattr | expandMacros | binary],
    [Op.delete, xattr],
    [Op.replace, xattr | expandMacros | binary],
    [Op.pushLast, mkdirP | xattr | expandMacros],
    [Op.pushFirst, mkdirP | xattr | expandMacros],
    [Op.arrayInsert, xattr | expandMacros],
    [Op.addUnique, mkdirP | xattr],
    [Op.counter, mkdirP | xattr],
    [Op.replaceBodyWithXattr, xattr | binary],
    [Op.setDoc, 0],
    [Op.deleteDoc, 0],
  ];
  const lookups: readonly number[] = [Op.get, Op.exists, Op.getCount, Op.getDoc];
  const withoutValue: readonly number[] = [Op.delete, Op.replaceBodyWithXattr, Op.deleteDoc];
  for (const [opcode, allowed] of rows) {
    for (let bit = 1; bit < 256; bit <<= 1) {
      const needsXattr = bit === expandMacros || bit === binary || opcode === Op.replaceBodyWithXattr;
      const flags = needsXattr && (allowed & xattr) !== 0 ? bit | xattr : bit;
      const path = allowed === 0 ? '' : 'a[0]';
      const value = withoutValue.includes(opcode) ? '' : `"\${Mutation.CAS}"`;
      const answer = lookups.includes(opcode)
        ? lookup([aLookupSpec(opcode, path, flags)])
        : mutation([aMutationSpec(opcode, path, value, flags)]);
      assert.equal(answer, (bit & allowed) !== 0 ? 'ok' : '4', `${opcode.toString(16)} ${flags}`);
    }
  }
  assert.equal(mutation([aMutationSpec(Op.dictAdd, 'a', '1', expandMacros)]), 'ce');
  assert.equal(mutation([aMutationSpec(Op.dictAdd, 'a', '1', binary)]), 'ce');
  assert.equal(lookup([aLookupSpec(Op.get, 'a', binary)]), 'ce');
  assert.equal(single(Op.dictAdd, expandMacros, 'a', '1'), 'ce');
});

test('unknown document flags and those that exclude each other are refused', () => {
  const { mkdoc, add, accessDeleted, createAsDeleted, revive, replicaRead } = DocFlag;
  const spec = [aMutationSpec(Op.dictUpsert, 'x', '1', xattr)];
  const rows: [number, string][] = [
    [0, 'ok'],
    [mkdoc, 'ok'],
    [add, 'ok'],
    [add | mkdoc, '4'],
    [accessDeleted, 'ok'],
    [createAsDeleted | add, 'ok'],
    [createAsDeleted | mkdoc | accessDeleted, 'ok'],
    [revive, '4'],
    [revive | accessDeleted, 'ok'],
    [revive | accessDeleted | createAsDeleted | mkdoc, '4'],
    [replicaRead, '4'],
    [0x40, '4'],
    [0x80, '4'],
  ];
  for (const [flags, expected] of rows) {
    assert.equal(mutation(spec, flags), expected, `multi ${flags}`);
    assert.equal(single(Op.dictUpsert, xattr, 'x', '1', flags), expected, `single ${flags}`);
  }
  assert.equal(single(Op.dictUpsert, xattr, 'x', '1', createAsDeleted), '4');
  assert.equal(mutation(spec, createAsDeleted | accessDeleted, { ...context, hasCas: true }), 'ok');
  assert.equal(mutation(spec, add, { ...context, hasCas: true }), '4');
  assert.equal(mutation(spec, mkdoc, { ...context, hasCas: true }), 'ok');
  assert.equal(single(Op.dictUpsert, 0, 'x', '1', createAsDeleted | mkdoc), '4', 'body path');
  assert.equal(
    mutation([aMutationSpec(Op.setDoc, '', '1')], createAsDeleted | mkdoc),
    'ok',
    'refused only at execution',
  );
  const get = [aLookupSpec(Op.get, 'a')];
  for (const flags of [mkdoc, add, createAsDeleted, revive, replicaRead | accessDeleted]) {
    assert.equal(lookup(get, flags), '4', `lookup ${flags}`);
  }
  assert.equal(lookup(get, accessDeleted), 'ok');
  assert.equal(lookup(get, replicaRead), 'ok');
  assert.equal(lookup(get, replicaRead, { features: noFeatures, hasCas: false }), '4');
});

test('operations on xattrs come first, and a deletion is the only operation on the body', () => {
  const inXattr = aMutationSpec(Op.dictUpsert, 'x', '1', xattr);
  const inBody = aMutationSpec(Op.dictUpsert, 'a', '1');
  const remove = aMutationSpec(Op.deleteDoc, '');
  assert.equal(mutation([inXattr, inBody]), 'ok');
  assert.equal(mutation([inBody, inXattr]), 'd4');
  assert.equal(lookup([aLookupSpec(Op.getDoc, ''), aLookupSpec(Op.get, 'x', xattr)]), 'd4');
  assert.equal(mutation([inXattr, remove]), 'ok');
  assert.equal(mutation([inXattr, remove, inBody]), 'cb');
  assert.equal(mutation([inBody, remove]), 'cb');
});

test('malformed and long keys of xattrs, unknown virtual ones, and writes to virtual ones are refused', () => {
  for (const path of [
    '',
    '.a',
    '[0]',
    '-a',
    '_',
    '$',
    '_.a',
    'sixteen_bytes___',
    'a\0b',
    '\x01',
    '`a`',
    'a"b',
    'a\xff',
  ]) {
    assert.equal(single(Op.get, xattr, path, ''), '87', path);
  }
  for (const path of ['a', '_a.b', 'fifteen_bytes__[0]', '$document.CAS', '$XTOC', '$vbucket.HLC', 'a.$b']) {
    assert.equal(single(Op.get, xattr, path, ''), 'ok', path);
  }
  assert.equal(single(Op.get, xattr, '$unknown', ''), 'd1');
  assert.equal(single(Op.dictUpsert, xattr, '$document.CAS', '1'), 'd2');
  assert.equal(single(Op.dictUpsert, xattr, '$unknown', '1'), 'd2');
});

test('only known macros are accepted, each as a whole value', () => {
  const macros = ['Mutation.CAS', 'Mutation.seqno', 'Mutation.value_crc32c'].map((name) => `"\${${name}}"`);
  const documentMacros = ['$document', '$document.CAS', '$document.unknown'].map((name) => `"\${${name}}"`);
  const put = (value: string, using = context) =>
    single(Op.dictUpsert, xattr | expandMacros, 'x', value, 0, using);
  for (const value of [...macros, ...documentMacros]) assert.equal(put(value), 'ok', value);
  for (const name of ['Mutation.cas', 'x', '', '$documents', '$XTOC'])
    assert.equal(put(`"\${${name}}"`), 'd0', name);
  for (const value of ['1', '"x"', '{}', `[${macros[0]}]`]) assert.equal(put(value), 'd0', value);
  const without = { ...context, features: { ...allFeatures, documentMacro: false } };
  for (const value of documentMacros) assert.equal(put(value, without), 'd0', value);
});

test('features that the connection did not negotiate are refused', () => {
  const without = (name: keyof typeof allFeatures) => ({
    features: { ...allFeatures, [name]: false },
    hasCas: false,
  });
  assert.equal(single(Op.get, xattr, 'a', '', 0, without('xattr')), '83');
  assert.equal(single(Op.get, 0, 'a', '', 0, without('xattr')), 'ok');
  assert.equal(single(Op.get, xattr | binary, 'a', '', 0, without('binaryXattr')), '4');
  assert.equal(single(Op.replaceBodyWithXattr, xattr, 'a', ''), 'ok');
  assert.equal(single(Op.replaceBodyWithXattr, xattr, 'a', '', 0, without('replaceBodyWithXattr')), '83');
  const two = [
    aMutationSpec(Op.dictUpsert, 'a', '1', xattr),
    aMutationSpec(Op.dictUpsert, 'b.c', '1', xattr),
  ];
  assert.equal(mutation(two), 'ok');
  assert.equal(mutation(two, null, without('multiXattrKeys')), 'cf');
  const specs = ['$document.CAS', 'a.b', '$XTOC', 'a[1]'].map((path) => aLookupSpec(Op.get, path, xattr));
  assert.equal(lookup(specs, null, without('multiXattrKeys')), 'ok');
});

test('every truncation within a spec is refused, and random and changed bytes cause no exception', (t) => {
  const random = aSeed(t);
  const lookups = Buffer.concat([aLookupSpec(Op.get, 'x.y', xattr), aLookupSpec(Op.exists, 'abc')]);
  const mutations = Buffer.concat([
    aMutationSpec(Op.counter, 'x', '5', xattr),
    aMutationSpec(Op.setDoc, '', 'body'),
  ]);
  const ends = (specs: Buffer[]) => [0, (specs[0] as Buffer).length];
  for (let end = 1; end < lookups.length; end++) {
    const expected = ends([aLookupSpec(Op.get, 'x.y', xattr)]).includes(end) ? 'ok' : '4';
    assert.equal(lookup([lookups.subarray(0, end)]), expected);
  }
  for (let end = 1; end < mutations.length; end++) {
    const expected = ends([aMutationSpec(Op.counter, 'x', '5', xattr)]).includes(end) ? 'ok' : '4';
    assert.equal(mutation([mutations.subarray(0, end)]), expected);
  }
  for (let round = 0; round < 20_000; round++) {
    const hostile = Buffer.from(random(2) ? lookups : mutations);
    for (let changes = random(3); changes >= 0; changes--) hostile[random(hostile.length)] = random(256);
    const value = random(4) ? hostile : randomBytes(random, random(40));
    const extras = randomBytes(random, random(13));
    decodeMultiLookup(extras, value, context);
    decodeMultiMutation(extras, value, context);
    decodeSingle(0xc5 + random(15), extras, value, context);
  }
});
