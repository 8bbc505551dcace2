// GET_ALL_VB_SEQNOS while the system events of a new manifest are being recorded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { aBucket, aDesired, startService } from '../../../test/support/data-service.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import type { Manifest } from '../admin.ts';
import { defaultManifest } from '../bucket/manifest.ts';

const opcode = Opcode.getAllVbSeqnos;
const vbuckets = 1024;
/** Enough for many turns in which their events are recorded. */
const collections = 60;

const firstId = 8;

/** The collections from `first` on. */
const manifestOf = (uid: string, first: number): Manifest => ({
  uid,
  scopes: [
    {
      name: '_default',
      uid: '0',
      collections: [
        { name: '_default', uid: '0' },
        ...Array.from({ length: collections }, (_, i) => ({
          name: `c${i}`,
          uid: (firstId + i).toString(16),
        })),
      ].filter((_, at) => at === 0 || at > first),
    },
  ],
});

const manifest = manifestOf('2', 0);

for (const type of ['native', 'ephemeral'] as const) {
  test(`${type}: seqnos of all vbuckets include the events of the manifest that clients see`, async () => {
    const desired = (present: Manifest) => aDesired({ buckets: [aBucket('b', { type, manifest: present })] });
    await using service = await startService(desired(defaultManifest));
    const kv = await service.ready();
    await service.service.apply(desired(manifest));
    const [seen, seqnos] = await Promise.all([kv.ask({ opcode: Opcode.getManifest }), kv.ask({ opcode })]);
    assert.equal(JSON.parse(seen.value.toString()).uid, manifest.uid);
    assert.equal(seqnos.status, Status.success);
    const found = Array.from({ length: seqnos.value.length / 10 }, (_, at) =>
      Number(seqnos.value.readBigUInt64BE(at * 10 + 2)),
    );
    assert.deepEqual(found, new Array<number>(vbuckets).fill(collections));
  });

  test(`${type}: a collection that is dropped while its seqnos wait for events is unknown`, async () => {
    const desired = (present: Manifest) => aDesired({ buckets: [aBucket('b', { type, manifest: present })] });
    await using service = await startService(desired(defaultManifest));
    const [kv, other] = [await service.ready(), await service.ready()];
    await service.service.apply(desired(manifest));
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(firstId, 4);
    const asked = kv.ask({ opcode, extras });
    // Once this is answered, the node has read the request above. It still records the events of the first manifest.
    await other.ask({ opcode: Opcode.getManifest });
    await service.service.apply(desired(manifestOf('3', 1)));
    const { status, value } = await asked;
    assert.equal(status, Status.unknownCollection);
    assert.equal(JSON.parse(value.toString()).manifest_uid, '3');
  });
}
