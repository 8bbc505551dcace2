// Forwards connections to another port, like a container's port mapping.
import { connect, createServer } from 'node:net';

export interface MappedPort {
  readonly port: string;
  close(): void;
}

export async function mapPort(target: number): Promise<MappedPort> {
  const server = createServer((accepted) => {
    const forwarded = connect(target, '127.0.0.1');
    accepted.pipe(forwarded).pipe(accepted);
    for (const socket of [accepted, forwarded]) socket.on('error', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return { port: String((server.address() as { port: number }).port), close: () => server.close() };
}
