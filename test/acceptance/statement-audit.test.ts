// The audit log of a real node: statements of the query port, and how operators leave some out.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const authorization = `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`;

test('the audit log has statements once operators enable them, but not the disabled kinds', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b', '--services', 'kv,n1ql'] });
  const ask = async (statement: string, fields: Record<string, string> = {}) => {
    const body = new URLSearchParams({ statement, ...fields });
    await (
      await fetch(`${node.ready.node.query}/query/service`, {
        method: 'POST',
        headers: { authorization },
        body,
      })
    ).text();
  };
  const set = async (form: Record<string, string>) => {
    const url = `${node.ready.node.rest}/settings/audit`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(form),
    });
    assert.equal(response.status, 200, await response.text());
  };
  const file = join(node.dataDir, 'logs', 'audit.log');
  const lines = (): { id: number; statement?: string; real_userid: unknown; name: string }[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : [];
  const statements = () => lines().filter(({ id }) => id >= 28672 && id < 28800);
  await ask('SELECT "before"');
  await set({ auditdEnabled: 'true' });
  await ask('SELECT "before"');
  await set({ disabled: '' });
  // The query service's thread applies the setting with the next state that it receives.
  await eventually(async () => {
    await ask('UPSERT INTO b VALUES ("k", {"v": $v})', { $v: '"pl4nted"' });
    assert.ok(statements().length > 0);
  });
  const [first] = statements();
  assert.deepEqual(
    [first?.id, first?.name, first?.statement, first?.real_userid],
    [
      28677,
      'UPSERT statement',
      'UPSERT INTO b VALUES ("k", {"v": $v})',
      { domain: 'builtin', user: 'Administrator' },
    ],
  );
  assert.doesNotMatch(readFileSync(file, 'utf8'), /pl4nted|"before"/);
  await set({ disabled: '28672' });
  await eventually(async () => {
    const before = statements().length;
    await ask('SELECT 1');
    await ask('EXPLAIN SELECT 1');
    const added = await eventually(() => {
      const found = statements().slice(before);
      assert.ok(found.some(({ id }) => id === 28673));
      return found;
    });
    assert.deepEqual(
      added.map(({ id }) => id),
      [28673],
    );
  });
});
