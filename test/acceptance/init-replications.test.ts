// The replications of an init file, which the first start creates.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { freePorts } from '../support/free-port.ts';
import { administrator, eventually, launcher, NodeProcess, portFlags } from '../support/node-process.ts';
import { bodyOf, contentOf } from '../support/xdcr.ts';

const timeout = 180_000;
const scratch = mkdtempSync(join(tmpdir(), 'divan-replications-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

function fileWith(name: string, plan: object): string {
  const path = join(scratch, `${name}.json`);
  writeFileSync(path, JSON.stringify(plan));
  return path;
}

/** `own`: the key of the only document. */
const planTo = (port: number, own: string) => ({
  buckets: [
    {
      name: 'b',
      scopes: [{ name: 's', collections: ['c'] }],
      documents: [{ key: own, value: 1, scope: 's', collection: 'c' }],
    },
  ],
  remoteClusters: [{ name: 'other', hostname: `127.0.0.1:${port}`, ...administrator }],
  replications: [
    {
      fromBucket: 'b',
      toCluster: 'other',
      toBucket: 'b',
      parameters: {
        filterDeletion: true,
        checkpointInterval: 60,
        collectionsExplicitMapping: true,
        colMappingRules: { 's.c': 's.c' },
      },
    },
  ],
});

test('two nodes that start at the same time replicate to each other', { timeout }, async () => {
  const [one = 0, other = 0] = await freePorts(2);
  const start = (own: number, target: number, key: string) =>
    NodeProcess.start({ ports: { rest: own }, args: ['--init', fileWith(key, planTo(target, key))] });
  const nodes = await Promise.all([start(one, other, 'x'), start(other, one, 'y')]);
  await using started = new AsyncDisposableStack();
  for (const node of nodes) started.use(node);
  for (const node of nodes) {
    const [listed] = (await node.request('/pools/default/replications').then(bodyOf)) as {
      checkpointInterval: number;
      filterDeletion: boolean;
      colMappingRules: object;
    }[];
    assert.deepEqual(
      [listed?.checkpointInterval, listed?.filterDeletion, listed?.colMappingRules],
      [60, true, { 's.c': 's.c' }],
    );
    await eventually(async () =>
      assert.deepEqual([...(await contentOf(node)).keys()].sort(), ['s.c/x', 's.c/y']),
    );
  }
});

test('the node refuses wrong references and replications before anything starts, and names their places', async () => {
  const { certificate, key } = await makeCertificate();
  for (const [name, text] of Object.entries({ certificate, key })) writeFileSync(join(scratch, name), text);
  const cluster = { name: 'c', hostname: 'h', username: 'u', password: 'secret-word' };
  const replication = { fromBucket: 'b', toCluster: 'c', toBucket: 'b' };
  const refused = (name: string, plan: object): string => {
    const folder = join(scratch, name);
    const { username, password } = administrator;
    const init = fileWith(name, { buckets: [{ name: 'b' }], ...plan });
    const flags = ['--data-dir', folder, '--init', init, '--username', username, '--password', password];
    const options = { encoding: 'utf8', timeout: 120_000 } as const;
    const { status, stderr } = spawnSync(
      process.execPath,
      [launcher, 'node', ...flags, ...portFlags],
      options,
    );
    assert.equal(status, 2, stderr);
    assert.equal(existsSync(folder), false);
    assert.doesNotMatch(stderr, /secret-word|\n {4}at /);
    return stderr;
  };
  const many = refused('many', {
    remoteClusters: [
      { ...cluster, name: 'a b' },
      { ...cluster, secureType: 'full' },
      { ...cluster, username: '', secureType: 'full', certificateFile: 'certificate', clientKeyFile: 'key' },
      cluster,
    ],
    replications: [
      { ...replication, fromBucket: 'no', toCluster: 'x' },
      { ...replication, parameters: { checkpointInterval: 1, filterDeletion: 'maybe' } },
    ],
  });
  for (const expected of [
    /remoteClusters\.0: name: .*alpha-numeric/,
    /remoteClusters\.1: certificate: certificate must be given when secure type is full/,
    /remoteClusters\.2: _: either username or client certificate/,
    /remoteClusters\.3\.name: "c" is listed twice/,
    /replications\.0\.fromBucket: "no": neither the init file nor --bucket creates this bucket/,
    /replications\.0\.toCluster: "x" is not among remoteClusters/,
    /replications\.1\.parameters\.checkpointInterval: .*between 60 and 14400/,
    /replications\.1\.parameters\.filterDeletion: The value must be a boolean/,
  ])
    assert.match(many, expected);
  const missing = refused('missing', { remoteClusters: [{ ...cluster, certificateFile: 'nowhere.pem' }] });
  assert.match(missing, /remoteClusters\.0\.certificateFile: cannot read nowhere\.pem/);
  const unknown = refused('unknown', { remoteClusters: [{ ...cluster, stage: true }] });
  assert.match(unknown, /remoteClusters\.0: .*stage/);
});
