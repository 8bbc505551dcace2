// Requests report the work that exceeds their bytes: pipelined, they take several turns. Each reading of the clock ends a turn, so the
// number of turns measures the work.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullGrants } from '#auth/grants.ts';
import { Privilege } from '#auth/privileges.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, aUser, startService } from '../../../test/support/data-service.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { TurnEndingClock } from '../../../test/support/turn-ending-clock.ts';

const collections = Array.from({ length: 1_000 }, (_, at) => ({
  name: `c${at}`,
  uid: (at + 8).toString(16),
}));
const manifest = {
  uid: '3',
  scopes: [
    { name: '_default', uid: '0', collections: [{ name: '_default', uid: '0' }] },
    { name: 'shop', uid: '8', collections },
  ],
};
/** The grants of a user who sees one collection of the thousand, by a privilege in it. */
const partial = {
  ...fullGrants(),
  node: 0,
  buckets: { b: { privileges: 0, scopes: { 8: { privileges: 0, collections: { 8: Privilege.read } } } } },
};
const observed = (keys: number): Buffer =>
  Buffer.concat(Array.from({ length: keys }, () => Buffer.from([0, 1, 0, 2, 0, 'k'.charCodeAt(0)])));

/** A request, how many of them are sent, and the least number of turns that they take. */
const costly: readonly [string, RequestParts, number, number][] = [
  ['OBSERVE of 512 keys', { opcode: Opcode.observe, value: observed(512) }, 100, 40],
  ['OBSERVE of 4,096 keys', { opcode: Opcode.observe, value: observed(4_096) }, 1, 7],
  ['all seqnos of a collection', { opcode: Opcode.getAllVbSeqnos, extras: Buffer.alloc(8) }, 100, 25],
  ['a manifest of a user with few rights', { opcode: Opcode.getManifest }, 20, 10],
  ['a statistic of many collections', { opcode: Opcode.stat, key: Buffer.from('memory') }, 100, 40],
];

for (const [name, request, count, turnsMin] of costly) {
  test(`${count} × ${name} take at least ${turnsMin} turns`, async () => {
    const clock = new TurnEndingClock();
    const users = [aUser('admin', 'password'), aUser('partial', 'password', partial)];
    const buckets = [aBucket('b', { type: 'ephemeral', manifest })];
    await using service = await startService(aDesired({ users, buckets }), { clock });
    const client = await service.connect();
    await client.hello([Feature.json, Feature.collections]);
    await client.plain(name.includes('few rights') ? 'partial' : 'admin', 'password');
    await client.select('b');
    assert.equal((await lastOf(client, [request])).status, Status.success);
    const before = clock.turns;
    assert.equal((await lastOf(client, new Array<RequestParts>(count).fill(request))).status, Status.success);
    assert.ok(clock.turns - before >= turnsMin, `${clock.turns - before} turns`);
  });
}

/** Sends the requests and then a NOOP; returns the last reply before that to the NOOP. */
async function lastOf(client: KvConnection, requests: RequestParts[]) {
  client.send(...requests, { opcode: Opcode.noop });
  let last = await client.next();
  for (let reply = last; reply !== null && reply.opcode !== Opcode.noop; reply = await client.next())
    last = reply;
  if (last === null) throw new Error('the connection was closed');
  return last;
}
