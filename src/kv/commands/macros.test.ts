// The CAS and the seqno that macros of sub-document mutations store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { aBareConnection, type BareConnection } from '../../../test/support/bare-connection.ts';

/** The reply to the request. */
function ask({ connection, sent }: BareConnection, request: RequestParts): Buffer {
  const bytes = encodeRequest(request);
  connection.received(bytes, 0, bytes.length);
  return sent.splice(0).at(-1) as Buffer;
}

function pathAndValue(flags: number, path: string, value: string): Buffer {
  const head = Buffer.from([SubdocOpcode.dictUpsert, flags, 0, path.length, 0, 0, 0, 0]);
  head.writeUInt32BE(value.length, 4);
  return Buffer.concat([head, Buffer.from(path + value)]);
}

test('macros have the CAS and the seqno of their change, also where documents are deleted to make room for it', async () => {
  const quotaBytes = 2 << 20;
  await using bare = await aBareConnection({ keepsSent: true, quotaBytes, evictionPolicy: 'nruEviction' });
  const macro = PathFlag.xattr | PathFlag.expandMacros;
  const value = Buffer.concat([
    pathAndValue(macro, 'm.cas', `"\${Mutation.CAS}"`),
    pathAndValue(macro, 'm.seqno', `"\${Mutation.seqno}"`),
    pathAndValue(0, 'text', `"${'x'.repeat(4000)}"`),
  ]);
  for (let i = 0; i < 1000; i++) {
    const key = Buffer.from(`\0k${i}`);
    const extras = Buffer.from([DocFlag.mkdoc]);
    const stored = ask(bare, { opcode: SubdocOpcode.multiMutation, key, extras, value });
    assert.equal(stored.readUInt16BE(6), 0);
    const lookup = { opcode: SubdocOpcode.get, key, extras: Buffer.from([0, 1, PathFlag.xattr]) };
    const found = ask(bare, { ...lookup, value: Buffer.from('m') }).toString('latin1', 24);
    // Swapped bytes, then the token: uuid and seqno.
    const cas = stored.readBigUInt64LE(16).toString(16).padStart(16, '0');
    const seqno = stored.readBigUInt64BE(32).toString(16).padStart(16, '0');
    assert.equal(found, `{"cas":"0x${cas}","seqno":"0x${seqno}"}`, `k${i}`);
  }
});
