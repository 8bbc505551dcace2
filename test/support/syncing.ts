// A program whose syncs are counted: commits five times to each kind of store in the folder given, and appends a line to the file of
// counted syncs before the first commit to each.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { migrate } from '#cloud/store/migrations.ts';
import { openSqlite } from '#cloud/store/sqlite.adapter.ts';
import { sqliteEngine } from '#kv/disk/adapters/sqlite-engine.ts';
import { EmbeddedConfigStore } from '#replog/embedded-config-store.adapter.ts';
import { cutsOf } from './cuts.ts';

const folder = process.argv[2] as string;
const begin = (name: string): void =>
  appendFileSync(process.env['DIVAN_COUNT_SYNCS'] as string, `begin ${name}\n`);
export const commits = 5;

const engine = sqliteEngine();
const bucketUuid = 'e'.repeat(32);
mkdirSync(join(folder, 'bucket'));
await engine.open({ folder: join(folder, 'bucket'), bucketUuid, incarnation: 1, fileCount: 1 });
begin('data');
for (let seqno = 1; seqno <= commits; seqno++)
  await engine.commit(bucketUuid, 0, cutsOf([{ vb: 0, key: `k${seqno}`, value: 'v', seqno }]));
begin('urgent');
for (let seqno = commits + 1; seqno <= 2 * commits; seqno++)
  await engine.commit(bucketUuid, 0, cutsOf([{ vb: 0, key: `k${seqno}`, value: 'v', seqno }]), true);
begin('rest');
await engine.stop();

const config = new EmbeddedConfigStore(join(folder, 'config.db'));
begin('config');
for (let at = 1; at <= commits; at++) await config.put(`key ${at}`, at, 0);
begin('rest');
await config[Symbol.asyncDispose]();

const { store } = openSqlite(join(folder, 'cloud.db'));
await migrate(store);
begin('cloud');
for (let at = 1; at <= commits; at++)
  await store
    .insertInto('projects')
    .values({ id: `p${at}`, name: `p${at}`, created_at: 0 })
    .execute();
begin('rest');
await store.destroy();
