// Checks the description of the REST API with standard tools: validators, generated clients, and
// requests that Schemathesis generates.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { needs } from '../support/needs.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { definitions, nodeTool, nodeTools, pythonTool } from '../support/openapi-tools.ts';
import { printedSeed } from '../support/seed.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-openapi-'));
after(async () => {
  await node?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

const options = { cwd: scratch, maxBuffer: 64 << 20 };
const run = promisify(execFile);

/** The compiler of the project, which takes a tenth of the time of the one that the generator needs. */
const tsc = new URL('../../node_modules/.bin/tsc', import.meta.url).pathname;
/** The folder of the project's type declarations, which has those of Node. */
const types = new URL('../../node_modules/@types', import.meta.url).pathname;

let node: NodeProcess;

before(async () => {
  node = await NodeProcess.start({ args: ['--bucket', 'travel', '--memory-quota', '1024'] });
  writeFileSync(join(scratch, 'openapi.json'), await (await node.request('/openapi.json')).text());
});

test('a generated TypeScript client compiles and works, and Redocly reports no problem', {
  skip: needs('openapi tools'),
}, async () => {
  await run(
    nodeTool('redocly'),
    ['lint', 'openapi.json', '--config', join(definitions, 'redocly.yaml')],
    options,
  );
  await run(nodeTool('openapi-typescript'), ['openapi.json', '-o', 'api.d.ts'], options);
  copyFileSync(join(definitions, 'use-client.mts'), join(scratch, 'use-client.mts'));
  symlinkSync(join(nodeTools, 'node_modules'), join(scratch, 'node_modules'));
  const flags = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', 'false'];
  await run(tsc, [...flags, '--typeRoots', types, '--types', 'node', 'use-client.mts'], options);
  const { stdout } = await run(process.execPath, ['use-client.mjs', node.ready.node.rest], options);
  assert.equal(stdout, 'done\n');
});

test('a generated Python client works, and the OpenAPI validator reports no problem', {
  skip: needs('python'),
}, async () => {
  const { stdout } = await run(pythonTool('openapi-spec-validator'), ['openapi.json'], options);
  assert.match(stdout, /OK/);
  const flags = ['generate', '--path', 'openapi.json', '--output-path', 'client', '--meta', 'none'];
  const generated = await run(pythonTool('openapi-python-client'), flags, options);
  // The generator warns about a missing formatter and about operations that it skips.
  assert.doesNotMatch(generated.stdout, /will not be generated|Unable to|cannot parse/i);
  const used = await run(
    pythonTool('python'),
    [join(definitions, 'use_client.py'), scratch, node.ready.node.rest],
    options,
  );
  assert.equal(used.stdout, 'done\n');
});

/** Excluded operations: they change the login, ports, name or limits that the others need, or stream endlessly. */
const leftOut = [
  'provisioning.web',
  'provisioning.init_cluster',
  'provisioning.rename',
  'provisioning.disable_listener',
  'provisioning.disable_unused_listeners',
  'users.change_own_password',
  'security.set',
  'client_allowlist.change',
  'internal_settings.change',
  'provisioning.network',
  // Always refused with 501.
  'buckets.start_recovery',
];

/**
 * Schemathesis without garbage collections, which are much of its processor time, and with the characters that UTF-8 can encode: Hypothesis
 * would find them by encoding each character of Unicode.
 */
const schemathesis = `import gc, sys
from hypothesis.internal import charmap
from hypothesis.internal.intervalsets import IntervalSet
from schemathesis.cli import schemathesis
encodable = {"utf-8": (IntervalSet(((0, 0xD7FF), (0xE000, 0x10FFFF))), IntervalSet(()))}
find = charmap.intervals_from_codec
charmap.intervals_from_codec = lambda codec: encodable.get(codec) or find(codec)
gc.disable()
sys.exit(schemathesis())`;

test('requests of Schemathesis get declared responses', {
  skip: needs('python'),
}, async (t) => {
  const { rest } = node.ready.node;
  const seed = String(printedSeed(t, 7));
  const cases = process.env['DIVAN_TEST_CASES'] ?? '4';
  const report = await run(
    pythonTool('python'),
    [
      '-c',
      schemathesis,
      'run',
      `${rest}/openapi.json`,
      '--url',
      rest,
      '--no-color',
      '--warnings',
      'off',
      '--auth',
      `${administrator.username}:${administrator.password}`,
      '--checks',
      'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance',
      '--exclude-path-regex',
      'tream|/bs/|ensureManifest|[tT]estEmail|LogsCollection|settings/(analytics|saslauthdAuth)',
      ...leftOut.flatMap((id) => ['--exclude-operation-id', id]),
      '--phases',
      'examples,coverage,fuzzing',
      '--max-examples',
      cases,
      '--seed',
      seed,
      '--request-timeout',
      '20',
      '--generation-database',
      'none',
    ],
    options,
  ).catch((error: Error & { stdout: string; stderr: string }) => error);
  const { stdout } = report;
  t.diagnostic(/\d+ generated[^\n]*/.exec(stdout)?.[0] ?? '');
  assert.ok(!(report instanceof Error), `${stdout.slice(-20_000)}${report.stderr}`);
  assert.ok(Number(/(\d+) generated/.exec(stdout)?.[1]) > 500, stdout.slice(-2_000));
  const description = readFileSync(join(scratch, 'openapi.json'), 'utf8');
  assert.equal(await (await node.request('/openapi.json')).text(), description, 'after all requests');
});
