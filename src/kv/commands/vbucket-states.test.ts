// What the data port answers about vbuckets that are not active here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndReason, StreamFlag } from '#wire/dcp.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { usualFeatures } from '../../../test/support/client-features.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { DcpClient } from '../../../test/support/dcp-client.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { ShardSpec } from '../admin.ts';
import { defaultManifest } from '../bucket/manifest.ts';
import { VbucketState, type VbucketStateName } from '../data/vbucket-state.ts';

/** With the manifest of a new bucket, which adds no system events: the first document has seqno 1. */
const desired = (type: 'native' | 'ephemeral', others: Record<number, VbucketStateName> = {}) => {
  const shards = Array.from({ length: 64 }, (_, shard): ShardSpec => {
    return { state: others[shard] ?? 'active', epoch: 1, replicas: [] };
  });
  return aDesired({ buckets: [aBucket('b', { type, manifest: defaultManifest, shards })] });
};
const key = Buffer.from('\0k');
const states = { 1: 'replica', 2: 'pending', 3: 'dead' } as const;
async function inTurn<T, R>(all: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  for (const request of all) answers.push(await ask(request));
  return answers;
}
const u32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]);

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: each vbucket is answered by its state, with the configuration where it is not active here`, async () => {
    await using service = await startService(desired(type));
    const kv = await service.ready({ features: [...usualFeatures, Feature.subdocReplicaRead] });
    for (const vb of [0, 1, 2, 3])
      await kv.ask({ opcode: Opcode.set, vb, key, extras: Buffer.alloc(8), value: Buffer.from('1') });
    await service.service.apply(desired(type, states));

    const statusOf = async (opcode: number, vb: number) => (await kv.ask({ opcode, vb, key })).status;
    for (const vb of [1, 2, 3]) {
      const refused = await kv.ask({ opcode: Opcode.get, vb, key });
      assert.equal(refused.status, Status.notMyVbucket);
      assert.equal(JSON.parse(refused.value.toString()).name, 'b');
    }
    assert.deepEqual(await inTurn([0, 1, 2, 3], (vb) => statusOf(Opcode.getReplica, vb)), [
      Status.notMyVbucket,
      Status.success,
      Status.notMyVbucket,
      Status.notMyVbucket,
    ]);
    const lookup = (vb: number) =>
      kv.ask({
        opcode: Opcode.subdocMultiLookup,
        vb,
        key,
        extras: Buffer.from([DocFlag.replicaRead]),
        value: Buffer.from([SubdocOpcode.getDoc, 0, 0, 0]),
      });
    assert.equal((await lookup(1)).status, Status.success);
    assert.equal((await lookup(0)).status, Status.notMyVbucket);
    assert.equal(
      (await kv.ask({ opcode: Opcode.getReplica, vb: 1, key: Buffer.from('\0none') })).status,
      Status.keyNotFound,
    );

    const replies = await inTurn([0, 1, 2], (vb) => kv.ask({ opcode: Opcode.getVbucket, vb }));
    assert.deepEqual(
      replies.map(({ value }) => value.readUInt32BE()),
      [VbucketState.active, VbucketState.replica, VbucketState.pending],
    );
    assert.equal((await kv.ask({ opcode: Opcode.getVbucket, vb: 3 })).status, Status.notMyVbucket);
    const countOf = async (state: number) =>
      (await kv.ask({ opcode: Opcode.getAllVbSeqnos, extras: u32(state) })).value.length / 10;
    // A shard has 16 vbuckets; state 0 asks for those in all states but dead.
    assert.deepEqual(
      await inTurn([0, VbucketState.active, VbucketState.replica, VbucketState.pending], countOf),
      [1024 - 16, 1024 - 48, 16, 16],
    );
    const shownState = await kv.ask({ opcode: Opcode.stat, key: Buffer.from('vbucket 1') });
    assert.deepEqual([shownState.key.toString(), shownState.value.toString()], ['vb_1', 'replica']);
  });

  test(`${type}: replicas are streamed, except to requests for active vbuckets only`, async () => {
    await using service = await startService(desired(type));
    const kv = await service.ready();
    await kv.ask({ opcode: Opcode.set, vb: 1, key, extras: Buffer.alloc(8), value: Buffer.from('1') });
    const client = await new DcpClient(await service.ready()).open();
    assert.equal((await client.stream(1)).status, Status.success);
    await client.reach([[1, 1]]);
    await service.service.apply(desired(type, states));
    await client.until(() => client.copyOf(1).endReason === EndReason.stateChanged);
    assert.equal((await client.stream(1, { flags: StreamFlag.activeOnly })).status, Status.notMyVbucket);
    assert.equal((await client.stream(2)).status, Status.notMyVbucket);
    assert.equal((await client.stream(3)).status, Status.notMyVbucket);
    assert.equal((await client.stream(1)).status, Status.success);
    assert.equal((await client.stream(4)).status, Status.success);
  });
}
