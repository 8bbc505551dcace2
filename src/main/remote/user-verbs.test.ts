import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { passwordOf } from '../connection-options.ts';
import { userVerbs } from './user-verbs.ts';
import { nameOf } from './verb.ts';

test('divan user create writes nothing unless the node says that there is no such user', async (t) => {
  const asked: string[] = [];
  const node = createServer(({ method }, response) => {
    asked.push(method ?? '');
    response.writeHead(method === 'GET' ? 503 : 200).end('busy');
  });
  node.listen(0, '127.0.0.1');
  await once(node, 'listening');
  t.after(() => node.close());
  const create = userVerbs.find((verb) => nameOf(verb) === 'create');
  const options = {
    url: `http://127.0.0.1:${(node.address() as AddressInfo).port}`,
    username: 'a',
    password: 'b',
    domain: 'local',
    'new-password': 'secret',
    roles: [],
    groups: [],
  };
  await assert.rejects(async () => create?.run(options as never, ['jane']), /503 busy/);
  assert.deepEqual(asked, ['GET']);
});

test('a message about the password of a user names the options of that password', () => {
  const both = { password: 'a', 'password-file': '/absent' };
  const onlyFile = { password: undefined, 'password-file': '/absent' };
  assert.throws(() => passwordOf(both, 'new-'), {
    message: '--new-password (or DIVAN_NEW_PASSWORD) and --new-password-file are given; give one of them',
  });
  assert.throws(() => passwordOf(onlyFile, 'new-'), /^UsageError: --new-password-file: cannot read/);
  assert.throws(() => passwordOf(onlyFile), /^UsageError: --password-file: cannot read/);
});
