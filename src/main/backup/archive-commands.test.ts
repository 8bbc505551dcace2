// Commands that read an archive share its lock with each other, and do not wait for a writer.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { lockFolder, shareFolder } from '#ports/folder-lock.ts';
import { Datatype } from '#wire/status.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { archiveHelp, runArchiveCommand } from './archive-commands.ts';

const folder = mkdtempSync(join(tmpdir(), 'divan-archive-commands-'));
const run = (verb: string, ...args: string[]) => runArchiveCommand(verb, [folder, ...args]);
const readers: [string, ...string[]][] = [['verify'], ['examine', '--bucket', 'b', '--key', 'k'], ['export']];

before(() => void addBackup(folder, [{ key: 'k' }]));
after(() => rmSync(folder, { recursive: true }));

it('verbs that read data files are refused while another process writes to the archive; list and info work', async () => {
  const writer = lockFolder(folder);
  for (const args of readers)
    await assert.rejects(run(...args), new RegExp(`is in use: process ${process.pid} writes there`), args[0]);
  assert.match((await run('list')) as string, /full/);
  assert.match((await run('info')) as string, /full backup/);
  writer.release();
});

it('examine shows the numbers of a document with their digits', async () => {
  const value = Buffer.from('{"id": 12345678901234567890, "price": 1.10}');
  addBackup(folder, [{ key: 'exact', value, datatype: Datatype.json }]);
  const args = ['examine', '--bucket', 'b', '--key', 'exact'] as const;
  const shown = '{"id":12345678901234567890,"price":1.10}';
  assert.ok((await run(...args)).endsWith(`: ${shown}`));
  assert.ok((await run(...args, '--json')).includes(`"value":${shown}`));
});

it('examine says by its exit status that no backup has the document', async (t) => {
  t.after(() => {
    process.exitCode = 0;
  });
  const args = ['examine', '--bucket', 'b', '--key', 'unknown'] as const;
  await assert.rejects(run(...args), { message: 'no backup has this document', status: 4 });
  assert.equal(await run(...args, '--json'), '[]');
  assert.equal(process.exitCode, 4);
});

it('options that a verb would ignore are refused', async () => {
  await assert.rejects(async () => run('list', '--bucket', 'b'), /unknown option --bucket/);
  const [older, newer] = [addBackup(folder, []), addBackup(folder, [])].map(({ name }) => name) as [
    string,
    string,
  ];
  const infoOf = (...args: string[]) => runArchiveCommand('info', [join(folder, older), ...args]);
  assert.match(await infoOf('--backup', older), /backup/);
  await assert.rejects(async () => infoOf('--backup', newer), /--backup: the folder is that of backup /);
});

it('the help of a verb has its options', () => {
  assert.match(archiveHelp(['merge', '--help']) ?? '', /^divan backup merge FOLDER: .*\n\n.*--days-ago /s);
  assert.equal(archiveHelp(['./folder', '--help']), null);
});

it('several processes read an archive at a time, and its folder is free afterwards', async () => {
  const reader = shareFolder(folder);
  for (const args of readers) assert.equal(typeof (await run(...args)), 'string', args[0]);
  reader.release();
  lockFolder(folder).release();
});
