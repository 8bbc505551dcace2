// The published package, packed by npm and installed by npm in an empty folder, where Node strips no types.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { aCluster } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { endAfterTests } from '../support/left-running.ts';
import { LocalRegistry } from '../support/local-registry.ts';
import { needs } from '../support/needs.ts';
import { eventuallyWithin, portFlags, type Ready } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-package-'));
const installed = join(scratch, 'node_modules/divan');
const launcher = join(installed, 'bin/divan.js');
const oldNode = '/usr/bin/node';
const startTimeoutMs = 180_000;
let installation = { stdout: '', stderr: '' };
/** Processor time from the start of the installation until the first document; a tenth of this is needed. Waiting does not count, so that a busy machine needs no more. */
const newcomerSeconds = 120;
const times = join(scratch, 'times');
/** The compression of an archive with Node would take most of the processor time of these tests. */
const fast = ['--level', '0'];
after(() => rmSync(scratch, { recursive: true, force: true }));

before(async () => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', scratch], { cwd: checkout });
  const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz')) as string;
  await using registry = await LocalRegistry.start();
  // The shell writes the processor time of what it ran.
  const timed = ['-c', '"$@"; status=$?; times > "$0"; exit $status', times];
  const install = ['npm', 'install', '--no-audit', '--no-fund', `./${archive}`];
  installation = await promisify(execFile)('/bin/sh', [...timed, ...install], {
    cwd: scratch,
    env: { ...foreignEnvironment(), npm_config_registry: registry.url },
  });
});

/** The environment of a user outside of this checkout: npm passes its settings to its children. */
function foreignEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|DIVAN_)/i.test(name));
  const npmSettings = {
    npm_config_cache: join(scratch, 'cache'),
    npm_config_userconfig: join(scratch, 'npmrc'),
  };
  return { ...Object.fromEntries(inherited), ...npmSettings };
}

test('npm installs the package in an empty folder without a warning and without development dependencies', () => {
  assert.equal(installation.stderr, '');
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
  const present = (names: object) =>
    Object.keys(names).filter((name) => existsSync(join(scratch, 'node_modules', name)));
  assert.deepEqual(present(dependencies), Object.keys(dependencies));
  const onlyDevelopment = Object.keys(devDependencies).filter((name) => !isNeededByProduction(name));
  assert.deepEqual(present(Object.fromEntries(onlyDevelopment.map((name) => [name, '']))), []);
});

/** Whether a dependency of production needs this package too. */
function isNeededByProduction(name: string): boolean {
  const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8'));
  return packages[`node_modules/${name}`]?.dev !== true && name !== 'divan-runtime';
}

test('the package contains only JavaScript and the types of divan/testing', () => {
  const files = readdirSync(installed, { recursive: true }).map(String);
  assert.deepEqual(
    files.filter((name) => /\.(ts|map)$/.test(name) && !/^built\/types\/[\w-]+\.d\.ts$/.test(name)),
    [],
  );
});

test('the manifest requires the version of Node that the launcher requires', () => {
  const { engines } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const [, major] = /major >= (\d+)/.exec(readFileSync(launcher, 'utf8')) ?? [];
  assert.equal(engines.node, `>=${major}`);
});

test('divan and divan/testing say which Node they need when this one is too old', (t) => {
  const version = spawnSync(oldNode, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  if (!/^v(1[89]|2[0-3])\./.test(version)) return t.skip(`${oldNode} is no old Node: ${version}`);
  const run = spawnSync(oldNode, [launcher, 'up'], { encoding: 'utf8', cwd: scratch });
  assert.equal(run.status, 1);
  assert.match(run.stderr, /^divan: needs Node 24 or newer \(this is v\d+\.\d+\.\d+\); .*\n$/);
  const use = spawnSync(oldNode, ['--input-type=module', '-e', `import 'divan/testing'`], {
    encoding: 'utf8',
    cwd: scratch,
  });
  assert.match(use.stderr, /Error: divan\/testing: needs Node 24 or newer \(this is v/);
});

test('the archive runs on a machine without Node, npm and this checkout', {
  skip: needs('mount'),
}, async () => {
  const tool = join(checkout, 'tools/dist.ts');
  const packed = join(scratch, readdirSync(scratch).find((name) => name.endsWith('.tgz')) as string);
  const printed = execFileSync(process.execPath, [tool, '--package', packed, ...fast, '--out', scratch], {
    encoding: 'utf8',
  });
  const name = `divan-${JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).version}-${process.platform}-${process.arch}`;
  assert.equal(printed, `${join(scratch, name)}.tar.gz\n`);
  execFileSync('tar', ['-xzf', printed.trim(), '-C', scratch]);
  const folder = join(scratch, name);
  for (const page of ['index', 'cloud'])
    assert.ok(existsSync(join(folder, `lib/built/console/${page}.html`)), page);
  // bin/divan through a link, with no program in PATH but those that follow the link.
  const link = join(scratch, 'divan-link');
  symlinkSync(join(folder, 'bin/divan'), link);
  const version = execFileSync(link, ['--version'], { encoding: 'utf8', env: { PATH: '/bin:/usr/bin' } });
  assert.match(version, /^divan \d/);
  const readyFile = join(scratch, 'archive-ready.json');
  const data = join(scratch, 'archive-data');
  const args = [
    'up',
    '--no-cloud',
    '--bucket',
    'b',
    '--ready-file',
    readyFile,
    '--data-dir',
    data,
    ...portFlags,
  ];
  const hidden = `mount -t tmpfs none '${checkout}' && exec env -i PATH=/nonexistent '${folder}/bin/divan' "$@"`;
  const child = spawn('unshare', ['--mount', '/bin/sh', '-c', hidden, 'sh', ...args], {
    cwd: scratch,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  endAfterTests(child);
  const ready = await eventuallyWithin(
    startTimeoutMs,
    () => JSON.parse(readFileSync(readyFile, 'utf8')) as Ready,
  );
  assert.equal(readlinkSync(`/proc/${child.pid}/exe`), join(folder, 'lib/node'));
  await useBySdk(ready, 'b');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  for (const file of [
    'completions/divan.bash',
    'completions/_divan',
    'completions/divan.fish',
    'systemd/divan.service',
    'lib/node.LICENSE',
    'LICENSE',
  ])
    assert.ok(readFileSync(join(folder, file)).length > 500, file);
});

test('an archive for another platform has the Node that --node names, and is refused without --node or for an unknown platform', () => {
  const tool = join(checkout, 'tools/dist.ts');
  const packed = join(scratch, readdirSync(scratch).find((name) => name.endsWith('.tgz')) as string);
  const foreign = join(scratch, 'foreign-node');
  writeFileSync(foreign, 'a program of another platform');
  const make = (...args: string[]) =>
    spawnSync(process.execPath, [tool, '--package', packed, ...fast, '--out', scratch, ...args], {
      encoding: 'utf8',
    });
  const { stdout, stderr } = make('--platform', 'darwin-arm64', '--node', foreign);
  assert.match(stdout, /-darwin-arm64\.tar\.gz\n$/, stderr);
  const folder = join(scratch, 'foreign');
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', stdout.trim(), '-C', folder, '--strip-components=1']);
  assert.equal(readFileSync(join(folder, 'lib/node'), 'utf8'), 'a program of another platform');
  for (const file of ['bin/divan', 'completions/divan.bash', 'lib/bin/divan.js', 'lib/node.LICENSE'])
    assert.ok(existsSync(join(folder, file)), file);
  assert.match(make('--platform', 'darwin-arm64').stderr, /--node: name the file of a Node for darwin-arm64/);
  assert.match(make('--platform', 'plan9').stderr, /--platform plan9: one of linux-x64/);
});

/** Writes and reads a document with the SDK of the checkout. */
async function useBySdk({ node, username = '', password = '' }: Ready, bucket: string): Promise<void> {
  const cluster = await connect(`couchbase://${node.kv}`, { username, password });
  const collection = cluster.bucket(bucket).defaultCollection();
  await collection.upsert('a', { b: 1 });
  assert.deepEqual((await collection.get('a')).content, { b: 1 });
  await cluster.close();
}

test('systemd accepts the unit of the package', { skip: needs('systemd') }, () => {
  const unit = readFileSync(join(checkout, 'packaging/divan.service'), 'utf8');
  const file = join(scratch, 'divan.service');
  // The archive is not installed here.
  writeFileSync(file, unit.replace('ExecStart=/opt/divan/bin/divan', 'ExecStart=/bin/true'));
  const { stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  // Other lines are about units of this machine.
  assert.deepEqual(
    stderr.split('\n').filter((line) => line.includes('divan.service')),
    [],
  );
});

test('npx divan up runs a node, which an SDK can use and which serves its console, within two minutes of machine time', async (t) => {
  const readyFile = join(scratch, 'ready.json');
  const args = ['--no-cloud', '--bucket', 'travel', '--ready-file', readyFile, ...portFlags];
  const child = spawn('npx', ['divan', 'up', ...args], {
    cwd: scratch,
    env: foreignEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  endAfterTests(child);
  const ready = await eventuallyWithin(
    startTimeoutMs,
    () => JSON.parse(readFileSync(readyFile, 'utf8')) as Ready,
  );
  await assertConsole(`${ready.node.rest}/ui/`);
  await useBySdk(ready, 'travel');
  const [, ran = ''] = readFileSync(times, 'utf8').split('\n');
  const installSeconds = [...ran.matchAll(/(\d+)m([\d.]+)s/g)]
    .map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds))
    .reduce((sum, each) => sum + each);
  const nodeSeconds = workedSeconds(ready.pid as number);
  t.diagnostic(`npm install worked ${installSeconds.toFixed(1)} s, the node ${nodeSeconds.toFixed(1)} s`);
  assert.ok(installSeconds > 0 && nodeSeconds > 0 && installSeconds + nodeSeconds < newcomerSeconds);
  child.kill('SIGTERM');
  await once(child, 'exit');
  await eventuallyWithin(startTimeoutMs, () => assert.rejects(fetch(ready.node.rest)));
});

test('divan/testing of the package starts a node, from a module and from CommonJS', () => {
  const use =
    'startNode({ buckets: ["b"] }).then(async (node) => { console.log(node.addresses.rest); await node.stop(); });';
  const forms = {
    'use.mjs': `import { startNode } from 'divan/testing'; ${use}`,
    'use.cjs': `const { startNode } = require('divan/testing'); ${use}`,
  };
  for (const [name, text] of Object.entries(forms)) {
    writeFileSync(join(scratch, name), text);
    const printed = execFileSync(process.execPath, [name], { cwd: scratch, encoding: 'utf8' });
    assert.match(printed, /^http:\/\/127\.0\.0\.1:\d+\n$/);
  }
});

test('a consumer of divan/testing gets its types', () => {
  const lines = [
    `import { startNode, type TestNode } from 'divan/testing';`,
    `const node: TestNode = await startNode({ buckets: ['a', { name: 'b', ramQuotaMB: 100 }] });`,
    `const text: string = node.connectionString;`,
    `// @ts-expect-error an unknown option`,
    `await startNode({ bukets: [] });`,
    `// @ts-expect-error it is a text`,
    `const wrong: number = node.username;`,
    `export { text, wrong };`,
  ];
  writeFileSync(join(scratch, 'consumer.mts'), lines.join('\n'));
  const compiler = join(checkout, 'node_modules/typescript/bin/tsc');
  const options =
    '--noEmit --strict --target es2022 --module nodenext --lib es2022,esnext.disposable --types';
  const run = [compiler, ...options.split(' '), '', 'consumer.mts'];
  execFileSync(process.execPath, run, { cwd: scratch, stdio: 'inherit' });
});

/** How long the threads of a process have worked: ticks of ten milliseconds, in user and in system mode. */
function workedSeconds(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11);
  return (Number(user) + Number(system)) / 100;
}

/** The page has scripts and style sheets, and all that it names are there. */
async function assertConsole(url: string): Promise<void> {
  const page = await (await fetch(url)).text();
  const files = page.match(/\/ui\/assets\/[\w-]+\.(js|css)/g) ?? [];
  const answers = await Promise.all(files.map((file) => fetch(new URL(file, url))));
  assert.deepEqual(
    answers.map(({ status }) => status),
    files.map(() => 200),
  );
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  assert.match(texts.join(''), /\bfetch\(/);
}

test('the package runs the cloud, which serves its console and starts nodes from the package', async () => {
  await using cloud = await CloudProcess.start({ launcher });
  await assertConsole(cloud.ready.api);
  await aCluster(cloud);
  const [pid] = cloud.nodePids();
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), new RegExp(launcher));
});
