// `divan load`, `divan sample` and `divan doctor` with a real node.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lockFolder } from '../../src/ports/folder-lock.ts';
import { runCommand, startCommand } from '../support/command.ts';
import {
  eventually,
  eventuallyWithin,
  launcher,
  NodeProcess,
  portFlags,
  portFlagsOf,
} from '../support/node-process.ts';
import { commandsOn, nodeEnvironment } from '../support/remote-command.ts';

const waitLimitMs = 180_000;
const scratch = mkdtempSync(join(tmpdir(), 'divan-load-'));
let node: NodeProcess;
const run = commandsOn(() => node);

before(async () => {
  node = await NodeProcess.start({ args: ['--bucket', 'b'] });
});
after(async () => {
  await node?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

const documentCount = async (bucket: string): Promise<number> => {
  const listed = JSON.parse((await run('bucket list --json')).out) as { name: string; documents: number }[];
  return listed.find(({ name }) => name === bucket)?.documents ?? 0;
};

describe('divan load', () => {
  it('measures reads and writes for the duration and removes its documents', async () => {
    const { status, out, error } = await run(
      'load b --duration 1s --documents 1500 --size 100 --reads 50 --connections 2 --json',
    );
    assert.deepEqual([status, error], [0, '']);
    const { seconds, reads, writes, refused } = JSON.parse(out);
    assert.ok(seconds >= 1);
    assert.ok(reads.operations > 0 && writes.operations > 0);
    assert.ok(reads.p50Ms > 0 && reads.p50Ms <= reads.p99Ms && reads.p99Ms <= reads.maxMs);
    assert.deepEqual(refused, {});
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await documentCount('b'), 0));
  });

  it('sends at most as many operations a second as --rate says', async () => {
    const [seconds, rate] = [2, 50];
    const { out } = await run(`load b --duration ${seconds}s --documents 100 --rate ${rate} --json`);
    const { reads, writes } = JSON.parse(out);
    const all = reads.operations + writes.operations;
    assert.ok(all > 0 && all <= seconds * rate, String(all));
  });

  it('ends with its figures on Ctrl-C', async () => {
    const { child, ended } = startCommand(
      ['load', 'b', '--duration', '1h', '--prefix', 'stop:', '--documents', '200'],
      nodeEnvironment(node),
    );
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await documentCount('b'), 200));
    child.kill('SIGINT');
    const { status, out } = await ended;
    assert.equal(status, 130);
    assert.match(out, /^ +operations +a second/);
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await documentCount('b'), 0));
  });
});

describe('divan sample', () => {
  it('installs the bucket of tutorials, and can be repeated', async () => {
    for (const _ of [1, 2]) {
      const { status, out, error } = await run('sample travel --json');
      assert.deepEqual([status, error], [0, '']);
      assert.deepEqual(JSON.parse(out), { bucket: 'travel-sample', indexes: true });
    }
    const environment = { ...nodeEnvironment(node), DIVAN_URL: node.ready.node.query };
    const statement =
      'SELECT RAW airportname FROM `travel-sample`.inventory.airport WHERE city = "San Francisco" AND faa = "SFO"';
    const { out } = await runCommand(['query', statement, '--json'], environment);
    assert.equal(out, '"San Francisco Intl"\n');
  });
});

describe('with a small node of their own', () => {
  let own: NodeProcess;
  before(async () => {
    own = await NodeProcess.start({ args: ['--memory-quota', '256', '--bucket', 'b:couchbase:200'] });
  });
  after(() => own?.[Symbol.asyncDispose]());

  it('divan sample ends with the reason when the quota of the node is too small', async () => {
    const { status, error } = await runCommand(['sample', 'travel'], nodeEnvironment(own));
    assert.equal(status, 1);
    assert.match(error, /Not enough Quota, you need to allocate 100MB to install sample buckets/);
  });

  it('divan load ends with what it measured when the node is killed', async () => {
    const load = startCommand(['load', 'b', '--duration', '1h', '--documents', '100'], nodeEnvironment(own));
    const list = () => runCommand(['bucket', 'list', '--json'], nodeEnvironment(own));
    await eventuallyWithin(waitLimitMs, async () =>
      assert.equal(JSON.parse((await list()).out)[0].documents, 100),
    );
    await own.stop('SIGKILL');
    const { status, out, error } = await load.ended;
    assert.equal(status, 1);
    // The node may be killed before the measurement begins.
    if (!/took no document/.test(error)) assert.match(out, /operations/);
    assert.doesNotMatch(error, /\n {4}at /);
  });
});

describe('divan doctor', () => {
  /** A command for a node that can start, with these further arguments. */
  const good = (...args: string[]) => [
    'doctor',
    '--data-dir',
    join(scratch, 'new', 'data'),
    ...portFlags,
    // Another test may run servers at the default ports.
    '--nats-port',
    '0',
    '--nats-route-port',
    '0',
    ...args,
  ];
  /** The arguments with another value of a flag. */
  const withFlag = (args: readonly string[], flag: string, value: string): string[] =>
    args.map((arg, index) => (args[index - 1] === flag ? value : arg));

  interface Finding {
    check: string;
    state: string;
    text: string;
    advice?: string;
  }
  const findings = async (...args: string[]) => {
    const { status, out, error } = await runCommand([...args, '--json']);
    assert.equal(error, '');
    const all = JSON.parse(out) as Finding[];
    return { status, all, problems: all.filter(({ state }) => state === 'problem') };
  };

  it('finds no problem where a node can start, and leaves nothing behind', async () => {
    const { status, all, problems } = await findings(...good('--peer', node.ready.node.rest));
    assert.deepEqual([status, problems], [0, []]);
    assert.deepEqual(
      [...new Set(all.map(({ check }) => check))],
      [
        'version',
        'node',
        'system',
        'open files',
        'memory',
        'data folder',
        'disk',
        'file system',
        'durable writes',
        'ports',
        'clock',
      ],
    );
    const withTls = await findings(...good('--peer', node.ready.node.restTls));
    assert.deepEqual(withTls.problems, []);
    assert.match(
      (await runCommand(good())).out,
      /^ok +version +Divan .*\n[\s\S]*0 problems, \d+ warnings?\n$/,
    );
    assert.equal(existsSync(join(scratch, 'new')), false);
  });

  it('names who has a port, and what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    try {
      await eventually(() => assert.ok(server.address()));
      const { port } = server.address() as { port: number };
      const { status, problems } = await findings(...withFlag(good(), '--rest-port', String(port)));
      assert.equal(status, 1);
      assert.equal(problems.length, 1);
      assert.match(
        problems[0]?.text ?? '',
        new RegExp(`^port ${port} \\(--rest-port\\): in use by process ${process.pid} `),
      );
      assert.match(problems[0]?.advice ?? '', /--rest-port 0 takes any free one, or set DIVAN_REST_PORT/);
    } finally {
      server.close();
    }
  });

  it('knows the node that runs in the data folder', async () => {
    const port = node.ready.node.rest.split(':').at(-1) as string;
    const args = withFlag(good(), '--data-dir', node.dataDir);
    const { status, all } = await findings(...withFlag(args, '--rest-port', port));
    assert.equal(status, 0);
    assert.ok(all.some(({ text }) => text.endsWith(`process ${node.pid} runs in it`)));
    assert.ok(
      all.some(({ text }) => text === `port ${port} (--rest-port): used by the node of the data folder`),
    );
  });

  it('names a data folder that is a file, an address that the machine does not have, and a peer that does not answer', async () => {
    const file = join(scratch, 'file');
    writeFileSync(file, '');
    const args = good('--peer', 'http://127.0.0.1:1');
    const { problems } = await findings(...withFlag(args, '--data-dir', file));
    assert.deepEqual(
      problems.map(({ check }) => check),
      ['data folder', 'clock'],
    );
    const wrong = await findings('doctor', '--data-dir', join(scratch, 'x'), '--host', '192.0.2.1');
    assert.ok(wrong.problems.every(({ text }) => /has no address 192\.0\.2\.1/.test(text)));
    assert.ok(wrong.problems.length > 0);
  });

  const otherUser = 65_534;
  const privileged = {
    skip: process.getuid?.() === 0 ? false : 'needs root, to run the command as another user',
  };
  const folderOfUser = (name: string): string => {
    const folder = join(scratch, name);
    chmodSync(scratch, 0o755);
    mkdirSync(folder);
    chownSync(folder, otherUser, otherUser);
    return folder;
  };
  const findingsOfUser = (folder: string, restPort: number) => {
    const ports = portFlagsOf({ rest: restPort });
    const command = [launcher, 'doctor', '--data-dir', folder, ...ports, '--json'];
    const options = { encoding: 'utf8', timeout: 120_000, uid: otherUser, gid: otherUser } as const;
    const { stdout, stderr } = spawnSync(process.execPath, command, options);
    assert.equal(stderr, '');
    return JSON.parse(stdout) as Finding[];
  };

  it(
    'names the process of another user that runs in the data folder, and may have a port',
    privileged,
    async (t) => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const { port } = server.address() as { port: number };
      const folder = folderOfUser('used');
      const lock = lockFolder(folder);
      t.after(() => lock.release());
      for (const name of ['lock.db', 'lock.pid']) chownSync(join(folder, name), otherUser, otherUser);
      const all = findingsOfUser(folder, port);
      const used = all.find(({ check }) => check === 'data folder');
      assert.match(used?.text ?? '', new RegExp(`; process ${process.pid} runs in it$`));
      const { state, text, advice } = all.find(({ text }) => text.includes('--rest-port')) as Finding;
      assert.deepEqual(
        [state, text, advice?.replace(/, or .*/, '')],
        [
          'warning',
          `port ${port} (--rest-port): in use, perhaps by process ${process.pid}, which runs in the data folder`,
          'if another process has it, end that one',
        ],
      );
    },
  );

  it('names a file of the data folder that another user owns', privileged, () => {
    const folder = folderOfUser('foreign');
    writeFileSync(join(folder, 'lock.db'), '', { mode: 0o600 });
    const [problem] = findingsOfUser(folder, 0).filter(({ state }) => state === 'problem');
    assert.equal(problem?.text, `this user may not write to ${join(folder, 'lock.db')}`);
  });

  it('names a folder that this user may not write to', privileged, () => {
    const folder = folderOfUser('closed');
    chmodSync(folder, 0o500);
    const [problem] = findingsOfUser(folder, 0).filter(({ state }) => state === 'problem');
    assert.match(problem?.text ?? '', /may not write/);
  });
});
