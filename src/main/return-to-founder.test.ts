// A node's folder after the death of its process between any two steps of the move of the configuration from NATS servers back to a founder: one
// store is valid, and all of the configuration is in it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ClusterState, clusterKey } from '#cluster/config/cluster-state.ts';
import { engineKey, firstRevisionAfter } from '#cluster/engine/engine-record.ts';
import type { NatsJoinParameters } from '#cluster/joining/join-messages.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ConfigCopyFile } from '#replog/mirror/config-copy.adapter.ts';
import { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { SwitchingConfigStore } from '#replog/switching-config-store.ts';
import { aCluster, nodeNamed } from '../../test/support/cluster.ts';
import { FaultyConfigLink, SimulatedServers } from '../../test/support/faulty-config-link.ts';
import { SeenHeadInMemory } from '../../test/support/nats-store.ts';
import { randomFrom } from '../../test/support/random.ts';
import { SimulatedClock } from '../../test/support/simulated-clock.ts';
import { DataFolder } from './data-folder.ts';
import { type FounderMembership, MembershipFile, type StoredMembership } from './membership-file.ts';
import { openCopy } from './open-config-copy.ts';
import { openConfiguration } from './open-configuration.ts';
import { endOnServers, recordNewFounder, recordStoreEnd } from './return-to-founder.ts';

const parameters: NatsJoinParameters = {
  clusterUuid: 'c',
  clusterKey: 'a2V5',
  credentials: { ca: '', cert: '', key: '' },
  nats: { servers: 'tls://x', bucket: 'divan', files: {}, own: true },
};
const own = { nodeId: 'a', host: 'a', port: 1 };
const diedHere = new Error('the process died');

interface Place {
  readonly folder: DataFolder;
  readonly file: MembershipFile;
  restored(): { folder: DataFolder; file: MembershipFile };
}

/** The folder of a node that uses the servers. */
function aFolder(nodeId: string, made: string[]): Place {
  const path = mkdtempSync(join(tmpdir(), 'divan-return-'));
  made.push(path);
  const at = (where: string) => ({
    folder: DataFolder.open(where, realRandom),
    file: new MembershipFile(where),
  });
  const { folder, file } = at(path);
  folder.keepNodeId(nodeId);
  file.useServers(parameters);
  folder.keepNatsState({ bucket: 'divan', identity: 'one', revision: 3 });
  const copy = new ConfigCopyFile(file.copyPath);
  copy.save({ revision: 3, records: [{ key: 'k', json: '"of the servers"', revision: 3, writes: null }] });
  copy.close();
  return { folder, file, restored: () => at(path) };
}

/** Servers with a configuration, which several nodes use. */
async function someServers() {
  const clock = new SimulatedClock();
  const servers = new SimulatedServers();
  let isOver = false;
  const running = (async () => {
    while (!isOver) await clock.run(5);
  })();
  const open = async () => {
    const random = randomFrom(1);
    const link = new FaultyConfigLink(servers, clock, random);
    const parts = { link, clock, random: realRandom, log: silentLog, mayEnd: true };
    const mirror = new MirroredConfigStore({ ...parts, seen: new SeenHeadInMemory() });
    await mirror.start();
    return mirror;
  };
  const first = await open();
  const cluster = aCluster({ uuid: 'c', revEpoch: 4, nodes: [nodeNamed('a'), nodeNamed('b')] });
  await first.put(clusterKey, cluster, 0);
  await first.put(engineKey, { nodes: ['a', 'b'], source: '' }, 0);
  await first.put('k', 'v', 0);
  return {
    servers,
    open,
    async close() {
      isOver = true;
      await running;
    },
  };
}

type Servers = Awaited<ReturnType<typeof someServers>>;

/** What a new process of the node does until it has a configuration. */
async function startAgain(place: Place, { open }: Servers): Promise<'servers' | 'founder' | 'member'> {
  const { folder, file } = place.restored();
  file.finishLeaving();
  if (file.natsMembership !== null) {
    file.setOwnStoreAside();
    const mirror = await open();
    const ended = await Promise.race([mirror.ended, null]);
    if (ended === null) return 'servers';
    recordStoreEnd(folder, file, ended);
  }
  return file.isFounder ? 'founder' : 'member';
}

/** Ends the process right before or after it writes the membership. */
function dying(file: MembershipFile, when: 'before' | 'after'): MembershipFile {
  const write = file.write.bind(file);
  file.write = (membership: StoredMembership): void => {
    if (when === 'after') write(membership);
    throw diedHere;
  };
  return file;
}

async function assertFounder({ folder, file }: Place): Promise<void> {
  await using store = openConfiguration(folder.path);
  assert.equal((await store.get('k'))?.value, 'v');
  assert.equal(await store.get(engineKey), null);
  const { founder, revEpoch } = (await store.get<ClusterState>(clusterKey))?.value ?? {};
  assert.deepEqual([founder, revEpoch, store.revision()], ['a', 5, firstRevisionAfter(3)]);
  const { state, epoch } = file.founderMembership as FounderMembership;
  assert.deepEqual([state, epoch], ['founder', 5]);
  const names = readdirSync(folder.path).filter((name) =>
    /^(nats\.json|config-copy|engine-return)/.test(name),
  );
  assert.deepEqual(names, []);
}

/** The member starts from its copy where the founder is away, and could take the configuration over. */
function assertMember({ file }: Place, isWhole: boolean): void {
  assert.deepEqual([file.founderMembership?.state, file.founderMembership?.founder], ['member', own]);
  const seen = file.seenHead.load();
  const { found, file: copy } = openCopy(file.copyPath, seen?.revision ?? null, silentLog);
  copy.close();
  if (!isWhole) {
    assert.deepEqual([seen, found], [null, null]);
    return;
  }
  assert.deepEqual(seen, { identity: 'c', revision: firstRevisionAfter(3), epoch: 5, founder: 'a' });
  assert.deepEqual(
    found?.records.map(({ key }) => key),
    [clusterKey, 'k'],
  );
}

async function withServers(
  run: (servers: Servers, folderOf: (id: string) => Place) => Promise<void>,
): Promise<void> {
  const servers = await someServers();
  const made: string[] = [];
  try {
    await run(servers, (id) => aFolder(id, made));
  } finally {
    await servers.close();
    for (const path of made) rmSync(path, { recursive: true });
  }
}

const end = async ({ file }: Place, { open }: Servers): Promise<MirroredConfigStore> => {
  const mirror = await open();
  await endOnServers(own, { store: new SwitchingConfigStore(mirror), mirror, file });
  return mirror;
};

test('a founder that died before the last change still uses the servers, and keeps what it prepared', () =>
  withServers(async (servers, folderOf) => {
    const place = folderOf('a');
    const mirror = await servers.open();
    const failing = { state: mirror.state, problem: null, end: () => Promise.reject(diedHere) };
    const store = new SwitchingConfigStore(mirror);
    await assert.rejects(endOnServers(own, { store, mirror: failing, file: place.file }), diedHere);
    assert.ok(existsSync(place.file.returnPath));
    // The founder still makes changes.
    assert.equal(await store.put('k', 'later', 3), 4);
    assert.equal(await startAgain(place, servers), 'servers');
  }));

test('a founder that died after the last change begins with all that the servers had, at any step', () =>
  withServers(async (servers, folderOf) => {
    const place = folderOf('a');
    const ended = await (await end(place, servers)).ended;
    // The second time, a node that does not know of the end yet has changed the servers.
    for (const isLate of [false, true]) {
      if (isLate) servers.servers.write({ key: 'k', json: '"late"', writes: ['x'] }, 3);
      for (const when of ['nothing', 'before', 'after'] as const) {
        const copy = folderOf('a');
        cpSync(place.file.returnPath, copy.file.returnPath);
        cpSync(`${place.file.returnPath}-commits`, `${copy.file.returnPath}-commits`);
        const record = () =>
          recordStoreEnd(copy.folder, dying(copy.restored().file, when as 'before'), ended);
        if (when !== 'nothing') assert.throws(record, diedHere);
        assert.equal(await startAgain(copy, servers), 'founder', when);
        await assertFounder(copy);
      }
    }
    recordStoreEnd(place.folder, place.file, ended);
    await assertFounder(place);
  }));

test('a folder without what its node prepared is refused, with a message that says what to do', () =>
  withServers(async (servers, folderOf) => {
    const place = folderOf('a');
    await end(place, servers);
    servers.servers.write({ key: 'k', json: '"late"', writes: ['x'] }, 3);
    rmSync(place.file.returnPath);
    await assert.rejects(
      startAgain(place, servers),
      /was an older data folder put back\? Fail this node over/,
    );
    assert.notEqual(place.file.natsMembership, null);
  }));

test('a member that died at any step follows the founder, from a copy where it knew the whole store', () =>
  withServers(async (servers, folderOf) => {
    const ended = await (await end(folderOf('a'), servers)).ended;
    for (const when of ['nothing', 'before', 'after'] as const) {
      const member = folderOf('b');
      const record = () =>
        recordStoreEnd(member.folder, dying(member.restored().file, when as 'before'), ended);
      if (when !== 'nothing') assert.throws(record, diedHere);
      assert.equal(await startAgain(member, servers), 'member', when);
      assertMember(member, true);
    }
    servers.servers.write({ key: 'k', json: '"late"', writes: ['x'] }, 3);
    const behind = folderOf('b');
    assert.equal(await startAgain(behind, servers), 'member');
    assertMember(behind, false);
    const notified = folderOf('b');
    recordNewFounder(notified.file, own, 5);
    assert.equal(notified.file.founderMembership?.epoch, 5);
    assertMember(notified, false);
  }));

test('what other nodes change between the copy and the last change is copied too', () =>
  withServers(async (servers, folderOf) => {
    const place = folderOf('a');
    const mirror = await servers.open();
    let isFirst = true;
    const late: Pick<MirroredConfigStore, 'end' | 'problem' | 'state'> = {
      get state() {
        return mirror.state;
      },
      problem: null,
      end(last) {
        if (isFirst) servers.servers.write({ key: 'k', json: '"w"', writes: ['x'] }, 3);
        isFirst = false;
        return mirror.end(last);
      },
    };
    await endOnServers(own, { store: new SwitchingConfigStore(mirror), mirror: late, file: place.file });
    recordStoreEnd(place.folder, place.file, await mirror.ended);
    await using store = openConfiguration(place.folder.path);
    assert.equal((await store.get('k'))?.value, 'w');
  }));
