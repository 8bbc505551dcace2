// Which code a checkout runs: its bundles, and its sources where these have changed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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
import { NodeProcess } from '../support/node-process.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-bundles-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** Another checkout, with this launcher. */
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

test('a checkout runs its sources without bundles, and after each change of a source', () => {
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

test('a node of a checkout without bundles runs, with its threads', async () => {
  const folder = aCheckout('sources');
  for (const part of ['src', 'node_modules']) symlinkSync(join(checkout, part), join(folder, part));
  await using node = await NodeProcess.start({
    launcher: join(folder, 'bin/divan.js'),
    args: ['--bucket', 'b'],
  });
  assert.match(readFileSync(`/proc/${node.pid}/cmdline`, 'utf8'), /sources\/bin\/divan\.js/);
  const { rest } = node.ready.node;
  assert.equal((await fetch(`${rest}/pools`)).status, 401);
});

test('the start of a node and its threads load few files of the bundles', () => {
  execFileSync(process.execPath, [join(checkout, 'tools/build-node.ts')], { stdio: 'inherit' });
  const folder = join(checkout, 'built/node');
  const text = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const late = [...loadedBy(['divan.js'], text)].map(
    (file) => /import\("\.\/(run-node-[\w-]+\.js)"\)/.exec(text(file))?.[1],
  );
  const ofNode = [...loadedBy(['divan.js', ...late.filter((file) => file !== undefined)], text)];
  assert.ok(ofNode.some((file) => file.startsWith('node-')) && ofNode.length <= 8, String(ofNode));
  for (const thread of ['data-thread', 'disk-worker', 'query-thread', 'index-thread', 'xdcr-thread'])
    assert.ok(loadedBy([`${thread}.js`], text).size <= 4, thread);
});

test('no bundle imports the entry of a process, since the entry waits for its bundles', () => {
  const folder = join(checkout, 'built/node');
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  assert.ok(files.includes('divan.js'));
  for (const file of files)
    assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /^import .*"\.\/divan\.js";$/m, file);
});

/** The files, and those that they import statically. */
function loadedBy(files: string[], text: (file: string) => string): Set<string> {
  const found = new Set<string>();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name] of text(file).matchAll(/^(?:import|export) (?:.* from )?"\.\/(.*)";$/gm))
      open.push(name as string);
  }
  return found;
}
