// An HTTP server in place of a service: answers 409 with `{"results":[]}` and records what it got.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export async function recordingPort() {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ request, body });
    response.writeHead(409, { 'content-type': 'application/json; version=1', 'set-cookie': 'a=b' });
    response.write('{"results"');
    response.end(':[]}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { seen, port, close: () => server.close() };
}
