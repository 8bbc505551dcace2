import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SubdocOpcode as Op } from '#wire/subdoc-opcodes.ts';
import { aDocument } from '../../../test/support/subdoc.ts';
import { aMutation } from '../../../test/support/subdoc-mutation.ts';
import type { LookupOutcome, MutationOutcome } from './execute.ts';
import { lookupReplyBytes, mutationReplyBytes, writeLookupReply, writeMutationReply } from './replies.ts';

const guard = 'eeee';
const guardBytes = 2;

/** What `write` writes, in hexadecimal. Checks that it writes `bytes` bytes and leaves the guard bytes before and after them. */
function written(bytes: number, write: (out: Buffer, at: number) => number): string {
  const end = guardBytes + bytes;
  const out = Buffer.alloc(end + guardBytes, guard, 'hex');
  assert.equal(write(out, guardBytes), end);
  assert.deepEqual([out.toString('hex', 0, guardBytes), out.toString('hex', end)], [guard, guard]);
  return out.toString('hex', guardBytes, end);
}

const lookupReply = (outcome: LookupOutcome): string =>
  written(lookupReplyBytes(outcome), (out, at) => writeLookupReply(outcome, out, at));

const mutationReply = (outcome: MutationOutcome): string =>
  written(mutationReplyBytes(outcome), (out, at) => writeMutationReply(outcome, out, at));

test('the reply to a lookup has the status and the value of each operation', () => {
  const results = [
    { status: Status.success, value: Buffer.from('abc') },
    { status: Status.subdocPathNotFound, value: Buffer.alloc(0) },
  ] as LookupOutcome['results'];
  assert.equal(
    lookupReply({ status: Status.subdocMultiPathFailure, results }),
    '000000000003616263' + '00c000000000',
  );
  assert.equal(lookupReply({ status: Status.keyNotFound, results: [] }), '');
});

test('the reply to a mutation has the values of its counters, or the first failure', () => {
  const counted = aMutation(aDocument(), [
    [Op.dictUpsert, 'b', '1'],
    [Op.counter, 'a', '9'],
  ]);
  assert.equal(mutationReply(counted), '01' + '0000' + '00000002' + '3130');
  assert.equal(mutationReply(aMutation(aDocument(), [[Op.dictUpsert, 'b', '1']])), '');
  const failed = aMutation(aDocument(), [
    [Op.dictUpsert, 'b', '1'],
    [Op.dictAdd, 'a', '9'],
  ]);
  assert.equal(mutationReply(failed), '01' + '00c9');
});
