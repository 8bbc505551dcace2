import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Surroundings } from './surroundings.adapter.ts';

describe('names of a node', () => {
  it('must be addresses that the node listens on', async () => {
    const loopback = new Surroundings('127.0.0.1');
    assert.equal(await loopback.nameProblem('127.0.0.1'), null);
    assert.equal(await loopback.nameProblem('localhost'), null);
    const elsewhere = await loopback.nameProblem('127.0.0.2');
    assert.equal(elsewhere, null); // the whole network is this host
    assert.match(
      (await loopback.nameProblem('203.0.113.9')) ?? '',
      /^Could not listen on address "203.0.113.9": e/,
    );
    assert.match(
      (await loopback.nameProblem('0.0.0.0')) ?? '',
      /not allowed: this node listens on 127.0.0.1 only/,
    );
    assert.equal(await new Surroundings('0.0.0.0').nameProblem('127.0.0.1'), null);
  });

  it('must be names', async () => {
    const surroundings = new Surroundings('0.0.0.0');
    assert.match((await surroundings.nameProblem('a b')) ?? '', /neither an address nor a domain name/);
    assert.match((await surroundings.nameProblem('no-such-host.invalid')) ?? '', /^Unable to resolve/);
  });
});

describe('folders of a node', () => {
  it('are made if need be, and must be writable folders', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'surroundings-'));
    try {
      const surroundings = new Surroundings('127.0.0.1');
      assert.equal(await surroundings.usableFolder(join(folder, 'new', 'deep')), true);
      writeFileSync(join(folder, 'file'), '');
      assert.equal(await surroundings.usableFolder(join(folder, 'file')), false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
