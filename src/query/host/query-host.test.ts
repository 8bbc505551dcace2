import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { silentLog } from '#ports/log.ts';
import { QueryHost } from './query-host.ts';
import type { QueryMessage, QueryStart, QueryState } from './query-messages.ts';

test('a stop answers requests that wait for the first buckets, or for the configuration', async () => {
  for (const planned of [[{ bucket: 'b', scopes: [] }], []]) {
    const messages: QueryMessage[] = [];
    const host = new QueryHost({
      engine: () => assert.fail('no statement runs'),
      connectIndexes: () => assert.fail('the service is not loaded'),
      readMemory: () => assert.fail('the service is not loaded'),
      sendMessage: (message) => void messages.push(message),
      log: silentLog,
    });
    const start = {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      plainForThisMachineOnly: false,
      clients: null,
      planned,
    };
    const { port1: documents } = new MessageChannel();
    await host.handle({ kind: 'start', id: 1, options: start as unknown as QueryStart, documents });
    const [started] = messages as unknown as [{ result: { port: number } }];
    const headers = { expect: '100-continue' };
    const request = httpRequest({
      port: started.result.port,
      path: '/query/service',
      method: 'POST',
      headers,
    });
    const answered = once(request, 'response');
    request.end('statement=SELECT+1');
    await once(request, 'continue'); // the host has the request
    await host.handle({ kind: 'stop', id: 2 });
    const [answer] = (await answered) as [IncomingMessage];
    assert.equal(answer.statusCode, 503);
    const { errors } = JSON.parse((await answer.toArray()).join('')) as { errors: unknown[] };
    assert.deepEqual(errors, [{ code: 1180, msg: 'Service shutting down', retry: true }]);
    documents.close();
  }
});

test('a request after a failed load, for example for lack of file handles, loads the service again', async (t) => {
  let loads = 0;
  const logged: string[] = [];
  let port = 0;
  const ports: MessagePort[] = [];
  const host: QueryHost = new QueryHost({
    engine: () => assert.fail('no statement runs'),
    connectIndexes: async () => {
      loads++;
      if (loads <= 2) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      return { indexes: {}, admin: {}, revision: () => 0 } as never;
    },
    readMemory: () => assert.fail('there is no data service'),
    sendMessage: (message) => {
      if (message.kind === 'result' && message.id === 1) ({ port } = message.result as { port: number });
      if (message.kind !== 'connect indexes') return;
      const { port1, port2 } = new MessageChannel();
      ports.push(port1);
      void host.handle({ kind: 'indexes', port: port2 });
    },
    log: { ...silentLog, error: (event) => void logged.push(event) },
  });
  const options = {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    plainForThisMachineOnly: false,
    clients: null,
    planned: [],
    dataFolder: '/nonexistent',
  } as unknown as QueryStart;
  await host.handle({ kind: 'start', id: 1, options, documents: null as never });
  const state = {
    buckets: [],
    functions: [],
    settings: {},
    tls: null,
    clients: null,
    cluster: null,
    node: { nodes: [] },
  } as unknown as QueryState;
  await host.handle({ kind: 'follow', id: 2, state });
  t.after(async () => {
    await host.handle({ kind: 'stop', id: 3 });
    for (const each of ports) each.close();
  });
  const ask = () => fetch(`http://127.0.0.1:${port}/admin/vitals`);
  const refused = await ask();
  assert.equal(refused.status, 503);
  const { errors } = (await refused.json()) as { errors: { code: number; retry: boolean }[] };
  assert.deepEqual([errors[0]?.code, errors[0]?.retry], [5000, true]);
  assert.equal((await ask()).status, 503);
  assert.deepEqual(logged, ['query.not_loaded'], 'clients decide how often a load fails');
  assert.deepEqual([(await ask()).status, (await ask()).status, loads], [401, 401, 3]);
});
