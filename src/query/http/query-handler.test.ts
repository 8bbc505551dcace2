import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { aQueryService } from '../../../test/support/query-service.ts';
import { QueryHandler } from './query-handler.ts';

const login = `Basic ${Buffer.from('admin:password').toString('base64')}`;
const mib = 1 << 20;

async function served({ bodyBytesMax = 256 * mib, perSource = 100 } = {}) {
  const { service, clock, authority } = aQueryService();
  const handler = new QueryHandler(service, clock, bodyBytesMax);
  const unauthenticated = new UnauthenticatedSockets(() => ({ perSource, total: perSource }));
  const server = createServer((request, response) => void handler.serve(request, response));
  server.on('connection', (socket: Socket) => unauthenticated.enter(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const open = (agent: Agent | false, authorization?: string, path = '/query/service') =>
    httpRequest({
      port,
      agent,
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    });
  const answerTo = async (request: ReturnType<typeof open>): Promise<number> => {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode ?? 0;
  };
  const ask = (bytes: number, authorization?: string, agent: Agent | false = false) => {
    const request = open(agent, authorization);
    const answer = answerTo(request);
    request.end(JSON.stringify({ statement: 'ROWS 1', args: ['x'.repeat(bytes)] }));
    return answer;
  };
  return {
    open,
    ask,
    answerTo,
    unauthenticated,
    authority,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('the handler reads a large body only from an authenticated client', async () => {
  using server = await served();
  assert.equal(await server.ask(2 * mib), 413);
  assert.equal(await server.ask(2 * mib, login.replace('Basic ', 'Basic x')), 413);
  assert.equal(await server.ask(2 * mib, login), 200);
  assert.equal(await server.ask(10), 401);
});

test('the handler limits the memory of all request bodies together until their requests end', async () => {
  using server = await served({ bodyBytesMax: 3 * mib });
  const unfinished = server.open(false, login);
  unfinished.on('error', () => {});
  unfinished.write(Buffer.alloc(2 * mib));
  await eventually(async () => assert.equal(await server.ask(2 * mib, login), 503));
  assert.equal(await server.ask(10, login), 200);
  unfinished.destroy();
  await eventually(async () => assert.equal(await server.ask(2 * mib, login), 200));
});

test('an authenticated connection no longer counts as unauthenticated', async () => {
  using server = await served({ perSource: 1 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  assert.equal(await server.ask(1, undefined, agent), 401);
  assert.equal(server.unauthenticated.total, 1);
  assert.equal(await server.ask(1, login, agent), 200);
  assert.equal(server.unauthenticated.total, 0);
  assert.equal(await server.ask(1, login), 200);
  agent.destroy();
});

test('each request of a connection is authenticated by its own credentials', async () => {
  using server = await served();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  assert.equal(await server.ask(1, login, agent), 200);
  assert.equal(await server.ask(1, login.replace('Basic ', 'Basic x'), agent), 401);
  assert.equal(await server.ask(1, undefined, agent), 401);
  assert.equal(await server.ask(1, login, agent), 200);
  agent.destroy();
});

test('the handler authenticates a connection once, and again after a change of accounts', async () => {
  using server = await served();
  const { authority } = server;
  let authentications = 0;
  const authenticate = authority.authenticate;
  authority.authenticate = (credential) => {
    authentications++;
    return authenticate(credential);
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let round = 0; round < 3; round++) assert.equal(await server.ask(1, login, agent), 200);
  assert.equal(authentications, 1);
  authority.authenticate = () => Promise.resolve(null);
  authority.revision++;
  assert.equal(await server.ask(1, login, agent), 401);
  agent.destroy();
});

test('a request whose sender cannot be checked now gets 503, for a statement and for an administration path', async () => {
  using server = await served();
  server.authority.authenticate = () => Promise.reject(sqlError(1182));
  assert.equal(await server.ask(1, login), 503);
  const vitals = server.open(false, login, '/admin/vitals');
  vitals.end();
  assert.equal(await server.answerTo(vitals), 503);
});
