import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { OsEnvironment } from './os-environment.adapter.ts';

const environment = new OsEnvironment('127.0.0.1');

function scratch(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'divan-folders-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('the node creates a folder with its parents', async () => {
  using folder = scratch();
  const deep = join(folder.path, 'a', 'b', 'c');
  assert.equal(await environment.usableFolder(deep), true);
  assert.equal(statSync(deep).isDirectory(), true);
  assert.equal(await environment.usableFolder(deep), true);
});

test('the node refuses files and paths below files', async () => {
  using folder = scratch();
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  assert.equal(await environment.usableFolder(file), false);
  assert.equal(await environment.usableFolder(join(file, 'below')), false);
});

test('the node refuses folders below one that denies new entries, at once', {
  skip: process.platform !== 'linux' && 'there is no /proc',
  timeout: 120_000,
}, async () => {
  assert.equal(await environment.usableFolder('/proc/divan/index'), false);
});

test('the node refuses paths that are invalid for the system', async () => {
  assert.equal(await environment.usableFolder(`/${'a/'.repeat(100_000)}`), false);
  assert.equal(await environment.usableFolder('/tmp/nul\0byte'), false);
});

test('the node follows links of the existing part of a path, and keeps the rest as written', async () => {
  using folder = scratch();
  const real = realpathSync(folder.path);
  mkdirSync(join(real, 'there'));
  symlinkSync(join(real, 'there'), join(real, 'link'));
  symlinkSync(join(real, 'ring'), join(real, 'ring'));
  const physical = (...path: string[]) => environment.physicalPath(join(real, ...path));
  assert.equal(await physical('link'), join(real, 'there'));
  assert.equal(await physical('link', 'not', 'yet/'), join(real, 'there', 'not', 'yet'));
  assert.equal(await physical('ring', 'below'), join(real, 'ring', 'below'));
  assert.equal(await environment.physicalPath('/no-such-folder/at-all'), '/no-such-folder/at-all');
  const long = `/${'a/'.repeat(100_000)}`;
  assert.equal(await environment.physicalPath(long), long.slice(0, -1));
});

test('a loopback address is the own one of a node if the node listens on it and it is not one of the usual three', () => {
  const isOwnName = (listenHost: string, name: string) => new OsEnvironment(listenHost).isOwnLoopback(name);
  assert.equal(isOwnName('127.64.1.2', '127.64.1.2'), true);
  assert.equal(isOwnName('127.64.1.2', '127.64.1.3'), false);
  assert.equal(isOwnName('127.0.0.1', '127.0.0.1'), false);
  assert.equal(isOwnName('0.0.0.0', '127.64.1.2'), false);
  assert.equal(isOwnName('10.0.0.2', '10.0.0.2'), false);
});

test('only programs of this machine connect to a node that listens on a loopback address', () => {
  const listensOnLoopbackOnly = (host: string) => new OsEnvironment(host).listensOnLoopbackOnly;
  for (const host of ['127.0.0.1', '127.64.1.2', '::1', 'localhost'])
    assert.equal(listensOnLoopbackOnly(host), true, host);
  for (const host of ['0.0.0.0', '::', '10.0.0.2']) assert.equal(listensOnLoopbackOnly(host), false, host);
});

test('the node refuses the name of a node unless it resolves to an address that the node listens on', async () => {
  const loopback = new OsEnvironment('127.0.0.1');
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
  assert.equal(await new OsEnvironment('0.0.0.0').nameProblem('127.0.0.1'), null);
});

test('the node refuses a malformed host name as the name of a node', async () => {
  const environment = new OsEnvironment('0.0.0.0');
  assert.match((await environment.nameProblem('a b')) ?? '', /neither an address nor a domain name/);
  assert.match((await environment.nameProblem('no-such-host.invalid')) ?? '', /^Unable to resolve/);
});
