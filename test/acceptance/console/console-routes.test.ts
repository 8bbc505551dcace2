// The console calls only routes that the node declares.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '../../../console/src/api/routes.ts';
import { aManager } from '../../support/manager.ts';

test('each route of the console is one that the node declares', async () => {
  const { server, manager } = await aManager();
  await manager.stop();
  const shape = (path: string) => path.replace(/:\w+/g, ':');
  const declared = new Set(server.routes.map(({ method, path }) => shape(`${method} ${path}`)));
  const unknown = Object.values(routes).filter((route) => !declared.has(shape(route)));
  assert.deepEqual(unknown, []);
});
