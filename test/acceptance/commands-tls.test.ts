// The commands on a running node over TLS: REST API, data port and query service, and what they say about certificates.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeCertificate } from '../support/certificate.ts';
import { runCommand } from '../support/command.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

describe('commands over TLS', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-tls-'));
  const ca = join(scratch, 'ca.pem');
  let node: NodeProcess;
  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    writeFileSync(ca, await (await node.request('/pools/default/certificate')).text());
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const run = (line: string, environment: Record<string, string | undefined> = {}) =>
    runCommand(line.split(' '), {
      DIVAN_URL: node.ready.node.restTls,
      DIVAN_CA: ca,
      DIVAN_PASSWORD: administrator.password,
      ...environment,
    });
  const done = async (line: string, environment: Record<string, string> = {}): Promise<string> => {
    const { status, out, error } = await run(line, environment);
    assert.equal(status, 0, `${line}: ${error}`);
    return out;
  };
  /** Commands for the REST API, the data port, both of them and the query service fail with the status and the message. */
  const refused = async (
    status: number,
    message: RegExp,
    environment: Record<string, string | undefined>,
  ) => {
    for (const line of ['bucket list', 'doc get b k', `backup ${join(scratch, 'none')}`, 'query SELECT(1)']) {
      const ended = await run(line, environment);
      assert.equal(ended.status, status, `${line}: ${ended.error}`);
      assert.match(ended.error, message, line);
      assert.doesNotMatch(ended.error, /\n {4}at /);
    }
  };

  it('reach the REST API: buckets, collections, users, metrics, logs, replications', async () => {
    await done('bucket create made --quota 128');
    assert.match(await done('bucket list'), /made/);
    await done('collection create made inventory.airline');
    await done('user create app --new-password app-password --roles data_reader[made]');
    await eventually(async () => assert.match(await done('metrics kv_curr_items --json'), /kv_curr_items/));
    await done('logs');
    assert.match(await done('xdcr list --json'), /"replications":\[\]/);
    await done('bucket delete made');
  });

  it('reach the data ports: documents, import, export, load, sample, backup and restore', async () => {
    const lines = join(scratch, 'lines.jsonl');
    const copy = join(scratch, 'copy.jsonl');
    const folder = join(scratch, 'archive');
    writeFileSync(lines, '{"_key":"in_1","n":1}\n{"_key":"in_2","n":2}\n');
    await done('doc set b k {"a":1}');
    assert.match(await done('doc get b k'), /"a": ?1/);
    await done(`import b ${lines} --generate-key %_key% --ignore-fields _key`);
    await done(`export b ${copy}`);
    assert.match(readFileSync(copy, 'utf8'), /in_2/);
    await done('load b --duration 1s --documents 50 --connections 2');
    // A bucket of that name counts as installed: load-sample-doctor.test.ts has the installation, which calls the same REST API.
    await done('bucket create travel-sample --quota 100');
    assert.match(await done('sample travel'), /^bucket "travel-sample" is installed$/m);
    await done(`backup ${folder} --bucket b`);
    await done(`restore ${folder} --map b=restored`);
    assert.match(await done('doc get restored in_1'), /"n": ?1/);
  });

  it('reach the query service, at its own address and at the one that the REST API reports', async () => {
    const { restTls, queryTls } = node.ready.node;
    for (const url of [restTls, queryTls as string])
      assert.equal(await done('query SELECT(1)+1 --json', { DIVAN_URL: url }), '{"$1":2}\n');
  });

  it('say what to do about an authority that is not known', async () => {
    const unknown = /no authority that is trusted here issued.*--ca FILE.*\/pools\/default\/certificate/;
    await refused(1, unknown, { DIVAN_CA: undefined });
    const other = join(scratch, 'other.pem');
    writeFileSync(other, (await makeCertificate()).certificate);
    await refused(1, unknown, { DIVAN_CA: other });
  });

  it('refuse an authority for an address without TLS, a wrong port, and an authority that cannot be read', async () => {
    const { rest, kv } = node.ready.node;
    await refused(2, /--ca is given, but ".*" has no TLS/, { DIVAN_URL: rest });
    await refused(1, /has no TLS; .* 18091/, { DIVAN_URL: rest.replace('http:', 'https:') });
    await refused(1, /cannot reach/, { DIVAN_URL: `https://${kv}` });
    await refused(2, /--ca: cannot read/, { DIVAN_CA: join(scratch, 'missing.pem') });
    const noCertificate = join(scratch, 'empty.pem');
    writeFileSync(noCertificate, 'text');
    await refused(2, /--ca: .* has no certificate in PEM/, { DIVAN_CA: noCertificate });
  });
});
