import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durabilityOf, letterOf, msOfCas, recordedAttempts, txnAttributeOf } from './attempt-json.ts';

test('times and durability levels of client libraries are parsed', () => {
  assert.equal(msOfCas('0x000058a71dd25c15'), 1_539_336_197_457);
  assert.equal(msOfCas('soon'), 0);
  for (const level of ['none', 'majority', 'majorityAndPersistActive', 'persistToMajority'] as const)
    assert.equal(durabilityOf(letterOf(level)), level);
});

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

test('a member of an attribute counts as absent if its type is not the one that client libraries write', () => {
  const id = { txn: 't', atmpt: 'a', op: 'o' };
  const whole = { id, atr: { id: 'r', bkt: 'b', scp: 's', coll: 'c' }, op: { type: 'insert', crc32: '0x1' } };
  assert.deepEqual(txnAttributeOf(bytesOf(whole)), whole);
  for (const docexpiry of [0, 4_000_000_000])
    assert.deepEqual(txnAttributeOf(bytesOf({ aux: { uf: 1, docexpiry } })), { aux: { docexpiry } });
  for (const docexpiry of [-1, 2 ** 32, 1.5, '1'])
    assert.deepEqual(txnAttributeOf(bytesOf({ aux: { docexpiry } })), {});
  const wrong = { id: { ...id, atmpt: 5 }, atr: { id: {}, bkt: null, coll: 'c' }, op: 'insert' };
  assert.deepEqual(txnAttributeOf(bytesOf(wrong)), { id: { txn: 't', op: 'o' }, atr: { coll: 'c' } });
  for (const value of ['text', null, [], 5]) assert.equal(txnAttributeOf(bytesOf(value)), undefined);
});

test('members of a record that are not attempts, and entries of an attempt that are not documents, are ignored', () => {
  const document = { id: 'k', bkt: 'b', scp: 's', col: 'c' };
  const whole = { tid: 't', st: 'PENDING', tst: '0x1', exp: 5, d: 'm', ins: [document], rep: [], rem: [] };
  const wrong = { st: 5, tst: {}, exp: '5', ins: 5, rep: [null, document, { ...document, id: 7 }] };
  const attempts = recordedAttempts(bytesOf({ whole, wrong, none: null, number: 5, list: [] }));
  assert.deepEqual(Object.fromEntries(attempts), { whole, wrong: { ins: [], rep: [document], rem: [] } });
});
