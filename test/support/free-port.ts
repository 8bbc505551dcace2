// Ports of the loopback address for servers of tests. Each is the process's own until it ends, so that a server that is stopped and
// started again finds its port free; ports that the system chooses could belong to another test's server by then.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Blocks of ports below those that systems give to connections. A process owns a block while it listens on the first port of it. Another
 * port of a block may be in use nevertheless, by a server whose test has ended before it. */
const blocks = { first: 22_000, count: 600, size: 16 };
const reserved: number[] = [];

export async function freePort(): Promise<number> {
  // All ports of a block but its first may be in use.
  while (reserved.length === 0) reserved.push(...(await reservePortBlock()));
  return reserved.shift() as number;
}

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

async function reservePortBlock(): Promise<number[]> {
  const start = process.pid % blocks.count;
  for (let at = 0; at < blocks.count; at++) {
    const first = blocks.first + ((start + at) % blocks.count) * blocks.size;
    if ((await listening(first)) !== null)
      return await freeOf(Array.from({ length: blocks.size - 1 }, (_, next) => first + 1 + next));
  }
  throw new Error(`every block of ports from ${blocks.first} on is in use`);
}

async function freeOf(ports: readonly number[]): Promise<number[]> {
  const free: number[] = [];
  for (const port of ports) {
    const server = await listening(port);
    if (server === null) continue;
    free.push(port);
    await new Promise((closed) => server.close(closed));
  }
  return free;
}

/** A server on the port; null: the port is in use. */
async function listening(port: number): Promise<Server | null> {
  const server = createServer().unref().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return null;
  }
}
