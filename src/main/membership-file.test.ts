import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { FounderJoinParameters } from '#cluster/joining/join-messages.ts';
import { MembershipFile } from './membership-file.ts';

const parameters: FounderJoinParameters = {
  clusterUuid: 'c',
  clusterKey: 'a2V5',
  credentials: { ca: '', cert: '', key: '' },
  founder: { nodeId: 'b', host: '127.0.0.1', port: 1 },
};

it('deletes the copy of an earlier membership when a founder follows another one, and keeps its store aside', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-member-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const older = ['config-copy.db', 'config-copy.db-wal', 'config-copy.db-commits', 'store-seen.json'];
  for (const name of [...older, 'config.db', 'config.db-commits', 'node.id'])
    writeFileSync(join(folder, name), '');
  const file = new MembershipFile(folder);
  assert.equal(file.isFounder, true);
  file.write({ ...parameters, state: 'founder' });
  assert.equal(file.isFounder, true);
  file.follow(parameters, 4);
  assert.deepEqual(
    [file.isFounder, file.founderMembership?.state, file.founderMembership?.epoch],
    [false, 'member', 4],
  );
  file.setOwnStoreAside();
  assert.deepEqual(readdirSync(folder).sort(), [
    'config.db.yielded',
    'config.db.yielded-commits',
    'member.json',
    'node.id',
  ]);
});

it('deletes all files but that of its id when a node leaves, also the logins of servers to which a move failed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-member-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const name of ['config.db.yielded', 'config-copy.db', 'store-seen.json', 'node.id'])
    writeFileSync(join(folder, name), '');
  const file = new MembershipFile(folder);
  const files = { credentials: undefined, ca: undefined, cert: undefined, key: undefined };
  file.prepareMove({ ...parameters, nats: { servers: 'nats://user:secret@a', bucket: 'divan', files } });
  file.write({ state: 'leaving' });
  file.complete();
  assert.deepEqual(readdirSync(folder), ['node.id']);
});

it('keeps the next copy and its count of commits where a process ended between their renames', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-member-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = new MembershipFile(folder);
  file.write({ ...parameters, state: 'member' });
  // The count has been renamed, the database has not.
  const files = { 'config-copy.db.next': 'next', 'config-copy.db-commits': 'count', 'nats.json': '' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  file.finishLeaving();
  assert.deepEqual(readdirSync(folder).sort(), ['config-copy.db', 'config-copy.db-commits', 'member.json']);
  const textOf = (name: string): string => readFileSync(join(folder, name), 'utf8');
  assert.deepEqual([textOf('config-copy.db'), textOf('config-copy.db-commits')], ['next', 'count']);
});
