import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { silentLog } from '#ports/log.ts';
import { QueryHost } from './query-host.ts';
import type { QueryMessage, QueryStart } from './query-messages.ts';

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
    await host.take({ kind: 'start', id: 1, options: start as unknown as QueryStart, documents });
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
    await host.take({ kind: 'stop', id: 2 });
    const [answer] = (await answered) as [IncomingMessage];
    assert.equal(answer.statusCode, 503);
    const { errors } = JSON.parse((await answer.toArray()).join('')) as { errors: unknown[] };
    assert.deepEqual(errors, [{ code: 1180, msg: 'Service shutting down', retry: true }]);
    documents.close();
  }
});
