// The console calls only routes that the node and its backup service declare.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as backupContract from '#backup/service/backup.contract.ts';
import { routes } from '../../../console/src/api/routes.ts';
import { aManager } from '../../support/manager.ts';

test('each route of the console is one that the node declares', async () => {
  const { server, manager } = await aManager();
  await manager.stop();
  const shape = (path: string) => path.replace(/:\w+/g, ':');
  const declared = new Set(server.routes.map(({ method, path }) => shape(`${method} ${path}`)));
  // The port of the console leads to the service.
  for (const method of ['GET', 'POST', 'DELETE']) assert.ok(declared.has(`${method} /_p/backup/:*`));
  for (const { method, path } of Object.values(backupContract))
    declared.add(shape(`${method} /_p/backup${path.replace('/:cluster', '/self')}`));
  const unknown = Object.values(routes).filter((route) => !declared.has(shape(route)));
  assert.deepEqual(unknown, []);
});
