// Forwards connections to another port, like a container's port mapping.
import { connect, createServer } from 'node:net';

export interface MappedPort {
  readonly port: string;
  close(): void;
}

export async function mapPort(target: number): Promise<MappedPort> {
  const server = createServer((inside) => {
    const outside = connect(target, '127.0.0.1');
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on('error', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: String((server.address() as { port: number }).port), close: () => server.close() };
}
