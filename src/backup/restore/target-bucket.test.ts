import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketClient } from '#client/bucket-client.ts';
import { StatusError } from '#client/data-port-error.ts';
import { vbucketCount } from '#client/document-key.ts';
import { SelectBucket } from '#wire/commands/session.ts';
import { Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { addressOf, adminAccount } from '../../../test/support/wire-clients.ts';
import { Frame } from '../format/frame.ts';
import { BackupNode } from '../node/backup-node.ts';
import { TargetBucket } from './target-bucket.ts';

/** A node whose data port refuses the first selections of the bucket. */
class RefusingNode extends BackupNode {
  private refusals: number;
  private readonly hasRights: boolean;

  constructor(refusals: number, hasRights: boolean) {
    super({ host: '127.0.0.1', port: 1, username: 'u', password: 'p' });
    this.refusals = refusals;
    this.hasRights = hasRights;
  }

  override routes = async () => {
    if (this.refusals-- > 0) throw new StatusError(SelectBucket.opcode, Status.noAccess);
    return [];
  };
  override mayWriteMetadata = async () => this.hasRights;
}

/** Counts the waits, which take no time; the tenth fails. */
class WaitingClock extends ManualClock {
  waits = 0;

  override async sleep(): Promise<void> {
    if (++this.waits === 10) throw new Error('waited ten times');
  }
}

function open(node: BackupNode, clock: WaitingClock): Promise<TargetBucket> {
  const bucket = { name: 'b', uuid: 'b', settings: {}, itemCount: 0 };
  const { signal } = new AbortController();
  return TargetBucket.open({ node, clock, bucket, isForced: false, signal });
}

test('a user without rights is refused at once', async () => {
  const clock = new WaitingClock();
  await assert.rejects(open(new RefusingNode(Number.MAX_SAFE_INTEGER, false), clock), {
    message: 'bucket "b": the user may not write metadata (role data_backup)',
  });
  assert.equal(clock.waits, 0);
});

test('a bucket that the data service does not know yet is awaited', async () => {
  const clock = new WaitingClock();
  const target = await open(new RefusingNode(3, true), clock);
  target.close();
  assert.equal(clock.waits, 3);
});

test('a large document fails the restore if the connection has ended before it is written', async () => {
  await using service = await startService();
  const node = new BackupNode({ host: '127.0.0.1', port: 1, username: 'u', password: 'p' });
  node.routes = async () => [
    {
      options: { address: addressOf(service.port), account: adminAccount, bucket: 'b' },
      vbuckets: Array.from({ length: vbucketCount }, (_, vb) => vb),
    },
  ];
  const target = await open(node, new WaitingClock());
  const { clients } = target as unknown as { clients: readonly BucketClient[] };
  for (const client of clients) client.close();
  const frame = new Frame();
  frame.key = Buffer.from('k');
  // As large as all values that may be in flight.
  frame.value = Buffer.alloc(8 << 20);
  assert.throws(() => target.write(0, frame, 0), /the connection to bucket "b" was lost/);
  target.close();
});
