// Random changes against a model, followed by a stream that is interrupted and resumed: whenever a snapshot is complete, the
// client's copy equals the vbucket at that seqno.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenFlag } from '#wire/dcp.ts';
import { Status } from '#wire/status.ts';
import {
  aBucket,
  aDesired,
  persistToMajority,
  startService,
  type TestService,
} from '../../../test/support/data-service.ts';
import { type Copy, DcpClient, liveDocuments } from '../../../test/support/dcp-client.ts';
import type { KvConnection } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { aSeed, type Random } from '../../../test/support/random.ts';
import { defaultManifest } from '../bucket/manifest.ts';
import { MemoryDisk } from '../disk/memory-engine.ts';

const vbs = [0, 5];

interface Operation {
  seqno: number;
  key: string;
  /** Null deletes. */
  value: string | null;
}

class Model {
  private readonly operations = new Map<number, Operation[]>(vbs.map((vb) => [vb, []]));

  add(vb: number, operation: Operation): void {
    this.operations.get(vb)?.push(operation);
  }

  high(vb: number): number {
    return Math.max(0, ...(this.operations.get(vb) ?? []).map(({ seqno }) => seqno));
  }

  at(vb: number, seqno: number): Map<string, string> {
    const state = new Map<string, string>();
    const done = (this.operations.get(vb) ?? []).filter((operation) => operation.seqno <= seqno);
    for (const { key, value } of done.sort((a, b) => a.seqno - b.seqno)) {
      if (value === null) state.delete(key);
      else state.set(key, value);
    }
    return state;
  }
}

async function change(kv: KvConnection, model: Model, draw: Random, isNative: boolean): Promise<void> {
  const vb = vbs[draw(vbs.length)] as number;
  const key = `\0k${draw(60)}`;
  const isDelete = draw(4) === 0;
  const value = isDelete ? null : `${draw(1e9)}`.repeat(1 + draw(draw(10) === 0 ? 8000 : 20));
  const framing = isNative && draw(6) === 0 ? { framing: persistToMajority } : {};
  const body = value === null ? {} : { value: Buffer.from(value), extras: Buffer.alloc(8) };
  const reply = await kv.ask({
    opcode: isDelete ? Opcode.delete : Opcode.set,
    vb,
    key: Buffer.from(key),
    ...body,
    ...framing,
  });
  if (reply.status === Status.keyNotFound || reply.status === Status.syncWriteInProgress) return;
  assert.equal(reply.status, 0);
  model.add(vb, { seqno: Number(reply.extras.readBigUInt64BE(8)), key, value });
}

async function connected(
  service: TestService,
  last: DcpClient | null,
  check: (copy: Copy, vb: number) => void,
) {
  const client = new DcpClient(await service.ready());
  if (last) client.resume(last);
  await client.open('model', OpenFlag.producer | OpenFlag.includeXattrs, { connection_buffer_size: '10000' });
  client.ackBytes = 5000;
  for (const vb of vbs) {
    client.copyOf(vb).onSnapshotEnd = (copy) => check(copy, vb);
    assert.equal((await client.stream(vb)).status, 0);
  }
  return client;
}

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: a stream interrupted at random delivers the bucket's content, and consistent states only`, async (t) => {
    const draw = aSeed(t);
    const disk = new MemoryDisk({ sync: () => new Promise((resolve) => setTimeout(resolve, draw(8))) });
    await using service = await startService(
      aDesired({ buckets: [aBucket('b', { type, manifest: defaultManifest })] }),
      {
        disk: disk.engine(),
      },
    );
    const writers = await Promise.all([1, 2, 3].map(() => service.ready()));
    const model = new Model();
    const wholes: { copy: Map<string, string>; vb: number; seqno: number }[] = [];
    const note = (copy: Copy, vb: number): void => {
      wholes.push({ copy: liveDocuments(copy), vb, seqno: copy.position });
    };
    let client: DcpClient | null = null;
    for (let round = 0; round < 12; round++) {
      client = await connected(service, client, note);
      const following: DcpClient = client;
      const wantedCount = following.changes.length + draw(400);
      // The connection may be closed by the test first.
      const reading = following
        .until(() => following.changes.length >= wantedCount)
        .catch((error: Error) => assert.equal(error.message, 'the connection was closed'));
      const work = writers.map(async (kv) => {
        for (let i = 0; i < 60; i++) await change(kv, model, draw, type === 'native');
      });
      await Promise.all(work);
      following.connection.close();
      await reading;
    }
    const last: DcpClient = await connected(service, client, note);
    await last.reach(vbs.map((vb) => [vb, model.high(vb)] as const));
    for (const vb of vbs) assert.deepEqual(liveDocuments(last.copyOf(vb)), model.at(vb, model.high(vb)));
    for (const { copy, vb, seqno } of wholes)
      assert.deepEqual(copy, model.at(vb, seqno), `vbucket ${vb} at ${seqno}`);
    assert.ok(wholes.length > 20, `only ${wholes.length} whole states were seen`);
  });
}
