import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SubdocOpcode as Op } from '#wire/subdoc-opcodes.ts';
import { aDocument } from '../../../test/support/subdoc.ts';
import { aMutation } from '../../../test/support/subdoc-mutation.ts';
import type { LookupOutcome, MutationOutcome } from './execute.ts';
import { lookupReplyBytes, mutationReplyBytes, writeLookupReply, writeMutationReply } from './replies.ts';

function lookupReply(outcome: LookupOutcome): string {
  const bytes = lookupReplyBytes(outcome);
  const out = Buffer.alloc(bytes + 4, 0xee);
  assert.equal(writeLookupReply(outcome, out, 2), bytes + 2);
  assert.equal(out.readUInt16BE(0) & out.readUInt16BE(bytes + 2), 0xeeee);
  return out.toString('hex', 2, bytes + 2);
}

function mutationReply(outcome: MutationOutcome): string {
  const bytes = mutationReplyBytes(outcome);
  const out = Buffer.alloc(bytes + 4, 0xee);
  assert.equal(writeMutationReply(outcome, out, 2), bytes + 2);
  assert.equal(out.readUInt16BE(0) & out.readUInt16BE(bytes + 2), 0xeeee);
  return out.toString('hex', 2, bytes + 2);
}

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
