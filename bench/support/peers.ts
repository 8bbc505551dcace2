// The servers that Divan is compared with, each a process of its own on a free port. Null: the program is not installed.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/free-port.ts';
import { endAfterTests } from '../../test/support/left-running.ts';
import { eventually } from '../../test/support/node-process.ts';

export interface Peer extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
}

export const startMemcached = async (): Promise<Peer | null> => {
  const port = await freePort();
  const limits = ['-t', '1', '-m', '256', '-u', 'root'];
  return start(port, 'memcached', [...limits, '-l', '127.0.0.1', '-p', String(port)]);
};

/** `appendfsync` says when writes are on disk: `everysec`, or `always` before their answers. */
export async function startRedis(appendfsync: 'everysec' | 'always'): Promise<Peer | null> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'divan-redis-'));
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  const disk = ['--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''];
  return start(port, 'redis-server', [...place, ...disk], folder);
}

/** An echo server, over TLS if it gets a certificate: the upper bound for a server on this runtime. */
export async function startEcho(tls?: { certificate: string; key: string }): Promise<Peer> {
  const port = await freePort();
  const program = fileURLToPath(new URL('./echo-server.ts', import.meta.url));
  const args = [program, String(port), ...(tls ? [JSON.stringify(tls)] : [])];
  return (await start(port, process.execPath, args)) as Peer;
}

async function start(port: number, program: string, args: string[], folder?: string): Promise<Peer | null> {
  const child = spawn(program, args, { stdio: 'ignore' });
  const isThere = await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    child.once('spawn', () => resolve(true));
  });
  if (!isThere) return null;
  endAfterTests(child);
  await eventually(() => connectable(port));
  return { port, pid: child.pid as number, [Symbol.asyncDispose]: () => end(child, folder) };
}

const connectable = (port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });

async function end(child: ChildProcess, folder: string | undefined): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  if (folder !== undefined) rmSync(folder, { recursive: true });
}
