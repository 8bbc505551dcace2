// The published package, packed by npm and used from `node_modules`, where Node strips no types.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from 'couchbase';
import { aCluster } from '../support/cloud-cluster.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-package-'));
const installed = join(scratch, 'node_modules/divan');
const launcher = join(installed, 'bin/divan.js');
after(() => rmSync(scratch, { recursive: true, force: true }));

/** Installs the package in a folder with its dependencies, without development dependencies. */
before(() => {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', scratch], { cwd: checkout });
  const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz')) as string;
  execFileSync('tar', ['-xzf', archive], { cwd: scratch });
  mkdirSync(join(scratch, 'node_modules'));
  renameSync(join(scratch, 'package'), installed);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(scratch, 'node_modules', name);
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(join(checkout, 'node_modules', name), link);
  }
});

test('the package contains only JavaScript and the types of divan/testing, and packing leaves none in the checkout', () => {
  const files = readdirSync(installed, { recursive: true }).map(String);
  assert.deepEqual(
    files.filter((name) => name.endsWith('.ts') && !/^dist\/testing\/[\w-]+\.d\.ts$/.test(name)),
    [],
  );
  assert.ok(!existsSync(join(checkout, 'dist')));
});

test('the manifest requires the version of Node that the launcher requires', () => {
  const { engines } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  const [, major] = /major >= (\d+)/.exec(readFileSync(launcher, 'utf8')) ?? [];
  assert.equal(engines.node, `>=${major}`);
});

test('the package starts a node that an SDK can use and that serves its web page', async () => {
  await using node = await NodeProcess.start({ launcher, args: ['--bucket', 'travel'] });
  const page = await node.request('/ui/app.js');
  assert.match(await page.text(), /fetch/);
  const cluster = await connect(
    node.ready.node.kv.replace(/^(couchbase:\/\/)?/, 'couchbase://'),
    administrator,
  );
  const collection = cluster.bucket('travel').defaultCollection();
  await collection.upsert('a', { b: 1 });
  assert.deepEqual((await collection.get('a')).content, { b: 1 });
  await cluster.close();
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

test('the package runs the cloud, which starts nodes from the package', async () => {
  await using cloud = await CloudProcess.start({ launcher });
  await aCluster(cloud);
  const [pid] = cloud.nodePids();
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), new RegExp(launcher));
});
