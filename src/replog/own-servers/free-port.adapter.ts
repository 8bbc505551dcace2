// Finds a free port for a server of this node.
import { createServer } from 'node:net';

/** The port, or a free one where it is in use or 0. */
export async function freePortNear(host: string, port: number): Promise<number> {
  const found = await listenOnce(host, port);
  return found ?? ((await listenOnce(host, 0)) as number);
}

function listenOnce(host: string, port: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const server = createServer();
  server.once('error', () => resolve(null));
  server.listen({ host, port }, () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' ? (address?.port ?? null) : null));
  });
  return promise;
}
