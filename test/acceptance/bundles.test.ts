// Which code a checkout runs: its bundles, and its sources where these have changed.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { NodeProcess } from '../support/node-process.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
/** Few: finding and linking hundreds of files took a third of the processor time of a start. */
const [filesOfNodeMax, filesOfThreadMax] = [8, 4];
const scratch = mkdtempSync(join(tmpdir(), 'divan-bundles-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A new checkout with the launcher of this one, but neither sources nor bundles. */
function aCheckout(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  cpSync(join(checkout, 'bin'), join(folder, 'bin'), { recursive: true });
  cpSync(join(checkout, 'package.json'), join(folder, 'package.json'));
  return folder;
}

function codeFolder(folder: string): string {
  const script = `import { codeFolder } from '${folder}/bin/code-folder.js'; process.stdout.write(codeFolder());`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
}

test('processes that build the same folder at the same time all succeed', async () => {
  const target = join(scratch, 'built');
  const script = `
    import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
    import { replaceFolder } from '${join(checkout, 'tools/replace-folder.ts')}';
    for (let round = 0; round < 300; round++) {
      const folder = '${target}.' + process.pid;
      mkdirSync(folder);
      writeFileSync(folder + '/content', '');
      replaceFolder(folder, '${target}', () => existsSync('${target}/content'));
    }`;
  const build = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  await Promise.all([build(), build(), build()]);
  assert.deepEqual(
    readdirSync(scratch).filter((name) => name.startsWith('built')),
    ['built'],
  );
  assert.deepEqual(readdirSync(target), ['content']);
});

test('a checkout runs its bundles while no source has changed since, and its sources otherwise', () => {
  const folder = aCheckout('changes');
  const source = join(folder, 'src/a.ts');
  mkdirSync(join(folder, 'src'));
  writeFileSync(source, 'one');
  assert.equal(codeFolder(folder), 'src');
  const { size, mtime, mtimeMs } = statSync(source);
  mkdirSync(join(folder, 'built/node'), { recursive: true });
  writeFileSync(join(folder, 'built/node/sources.txt'), `${size} ${mtimeMs} src/a.ts\n`);
  assert.equal(codeFolder(folder), 'built/node');
  writeFileSync(source, 'longer');
  utimesSync(source, mtime, mtime);
  assert.equal(codeFolder(folder), 'src');
  writeFileSync(source, 'two');
  utimesSync(source, mtime, new Date(mtimeMs + 1000));
  assert.equal(codeFolder(folder), 'src');
  rmSync(source);
  assert.equal(codeFolder(folder), 'src');
  rmSync(join(folder, 'src'), { recursive: true });
  assert.equal(codeFolder(folder), 'built/node');
});

test('a node of a checkout without bundles runs its threads from the sources', async () => {
  const folder = aCheckout('sources');
  for (const part of ['src', 'node_modules']) symlinkSync(join(checkout, part), join(folder, part));
  await using node = await NodeProcess.start({
    launcher: join(folder, 'bin/divan.js'),
    args: ['--bucket', 'b'],
  });
  assert.match(readFileSync(`/proc/${node.pid}/cmdline`, 'utf8'), /sources\/bin\/divan\.js/);
  assert.equal(codeFolder(folder), 'src');
  for (const statement of [
    'UPSERT INTO b VALUES ("k", 1)',
    'CREATE PRIMARY INDEX ON b',
    'SELECT RAW b FROM b',
  ]) {
    const answer = await node.request('/_p/query/query/service', 'POST', { statement });
    assert.match(await answer.text(), /"status": ?"success"/, statement);
  }
});

test('the start of a node and its threads load few files of the bundles', () => {
  execFileSync(process.execPath, [join(checkout, 'tools/build-node.ts')], { stdio: 'inherit' });
  const folder = join(checkout, 'built/node');
  const text = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const importedLater = [...loadedBy(['divan.js'], text)].map(
    (file) => /import\("\.\/(run-node-[\w-]+\.js)"\)/.exec(text(file))?.[1],
  );
  const ofNode = [...loadedBy(['divan.js', ...importedLater.filter((file) => file !== undefined)], text)];
  assert.ok(ofNode.some((file) => file.startsWith('node-')));
  assert.ok(ofNode.length <= filesOfNodeMax, String(ofNode));
  for (const thread of ['data-thread', 'disk-worker', 'query-thread', 'index-thread', 'xdcr-thread'])
    assert.ok(loadedBy([`${thread}.js`], text).size <= filesOfThreadMax, thread);
});

test('no bundle imports the entry of a process statically, since the entry waits for its bundles', () => {
  const folder = join(checkout, 'built/node');
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  assert.ok(files.includes('divan.js'));
  for (const file of files)
    assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /^import .*"\.\/divan\.js";$/m, file);
});

/** The files, and those that they import statically. */
function loadedBy(files: string[], text: (file: string) => string): Set<string> {
  const found = new Set<string>();
  const unread = [...files];
  for (let file = unread.pop(); file !== undefined; file = unread.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name] of text(file).matchAll(/^(?:import|export) (?:.* from )?"\.\/(.*)";$/gm))
      unread.push(name as string);
  }
  return found;
}
