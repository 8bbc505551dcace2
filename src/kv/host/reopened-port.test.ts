// The unencrypted data port when a change of the hosts it listens on fails.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { aDesired, startService } from '../../../test/support/data-service.ts';

test('the unencrypted port opens as before when a change that failed to open it is withdrawn', async () => {
  const onlyThisMachine = aDesired({ plainForThisMachineOnly: true });
  await using started = await startService(onlyThisMachine, { host: '0.0.0.0' });
  // Another process that listens on one address of the machine keeps the port from opening on all of them.
  const other = createServer().listen(started.port, '127.0.0.2');
  await once(other, 'listening');
  try {
    await assert.rejects(started.service.apply(aDesired()), { code: 'EADDRINUSE' });
    await assert.rejects(started.connect(), { code: 'ECONNREFUSED' });
    await started.service.apply(onlyThisMachine);
    await started.ready();
  } finally {
    other.close();
  }
});
