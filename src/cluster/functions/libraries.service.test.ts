import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { allFunctionsBytesMax, FunctionsService } from './functions.service.ts';
import { functionsKey, noFunctions } from './functions-state.ts';
import { LibrariesService, libraryLimits } from './libraries.service.ts';
import { librariesPrefix } from './libraries-state.ts';

function aService(store = new MemoryConfigStore()) {
  const scopes = [
    { name: 's', uid: '8' },
    { name: 't', uid: '9' },
  ];
  const nodes: { version?: number; otpNode: string }[] = [{ version: 2, otpNode: 'n1' }];
  const bucket = { uuid: 'u', name: 'b', state: 'ready' };
  const view = {
    cluster: { nodes },
    buckets: { byUuid: { u: bucket } },
    liveBucket: (name: string) => (name === 'b' ? bucket : undefined),
    manifest: () => ({ scopes }),
  } as never;
  const [service, functions] = [new LibrariesService({ store, view }), new FunctionsService({ store, view })];
  return { store, service, functions, scopes, nodes };
}

const inScope = (scope: string) => ({ bucket: 'b', scope });
const storeChange = (scope: ReturnType<typeof inScope> | null, name: string, code = 'x') =>
  ({ kind: 'store', library: { scope, name, code } }) as const;

test('stores, replaces and deletes libraries by scope and name, and reports changes of another node', async () => {
  const { store, service } = aService();
  const { service: other } = aService(store);
  await service.start();
  await other.start();
  const revisions: number[] = [];
  other.onChange(() => revisions.push(other.revision));
  for (const change of [
    storeChange(null, 'a'),
    storeChange(inScope('s'), 'a', 'y'),
    storeChange(null, 'a', 'z'),
  ])
    assert.equal(await service.change(change), 'done');
  const wanted = [
    { scope: null, name: 'a', code: 'z' },
    { scope: inScope('s'), name: 'a', code: 'y' },
  ];
  assert.deepEqual(service.all(), wanted);
  assert.deepEqual(other.all(), wanted);
  assert.deepEqual(revisions, [1, 2, 3]);
  assert.equal(await other.change({ kind: 'delete', scope: null, name: 'a' }), 'done');
  assert.equal(await service.change({ kind: 'delete', scope: null, name: 'a' }), 'not found');
  assert.deepEqual(service.all(), wanted.slice(1));
});

test('the library service refuses names, sizes and numbers above the limits, and scopes that do not exist', async () => {
  const { service } = aService();
  await service.start();
  const refusal = async (...of: Parameters<typeof storeChange>): Promise<string> => {
    const outcome = await service.change(storeChange(...of));
    assert.ok(typeof outcome === 'object', JSON.stringify(of).slice(0, 80));
    return outcome.refused;
  };
  const { nameLength, codeBytes, bytes, count } = libraryLimits;
  for (const name of ['', 'a/b', '-a', 'a.b', 'é', 'x'.repeat(nameLength + 1)])
    assert.match(await refusal(null, name), /library: a name has/);
  assert.match(await refusal(null, 'a', 'é'.repeat(codeBytes / 2 + 1)), /at most 131072 bytes/);
  assert.match(await refusal(inScope('z'), 'a'), /scope: it does not exist/);
  for (let at = 0; at < bytes / codeBytes; at++)
    assert.equal(await service.change(storeChange(null, `l${at}`, 'x'.repeat(codeBytes))), 'done');
  assert.match(await refusal(null, 'one-more'), /all libraries have at most/);
  assert.equal(await service.change(storeChange(null, 'l0', 'y'.repeat(codeBytes))), 'done');
  for (let at = 0; at < count; at++) await service.change(storeChange(null, `l${at}`, 'x'));
  assert.match(await refusal(null, 'one-more'), /at most 500 libraries/);
});

test('functions are refused above a limit on the size of all of them', async () => {
  const { functions } = aService();
  await functions.start();
  const create = (name: string, bytes: number) => {
    const definition = { scope: null, name, parameters: ['x'.repeat(bytes)], isVariadic: false, body: '1' };
    return functions.change({ kind: 'create', definition, replaces: true });
  };
  const half = allFunctionsBytesMax / 2;
  assert.equal(await create('f', half), 'done');
  const outcome = await create('g', half);
  assert.match(typeof outcome === 'object' ? outcome.refused : outcome, /all functions have at most 4194304/);
  assert.deepEqual([await create('f', 1), await create('g', half)], ['done', 'done']);
});

test('a library is deleted with its scope, also if a scope of the same name is created again', async () => {
  const { store, service, scopes } = aService();
  await service.start();
  await service.change(storeChange(inScope('s'), 'a'));
  scopes[0] = { name: 's', uid: 'c' };
  assert.deepEqual(service.all(), []);
  assert.equal(await service.change({ kind: 'delete', scope: inScope('s'), name: 'a' }), 'not found');
  assert.deepEqual(await store.list(librariesPrefix), []);
});

test('libraries and functions in JavaScript are refused while a node has a version without them', async () => {
  const { service, functions, nodes } = aService();
  await service.start();
  await functions.start();
  nodes.push({ otpNode: 'n2' });
  const definition = { scope: null, name: 'f', parameters: [], isVariadic: true, body: 'f' };
  const create = (library?: string) =>
    functions.change({
      kind: 'create',
      definition: { ...definition, ...(library !== undefined && { library }) },
      replaces: true,
    });
  for (const outcome of [await service.change(storeChange(null, 'a')), await create('a')])
    assert.match(typeof outcome === 'object' ? outcome.refused : '', /version 0\.3 on all nodes.*older: n2/);
  assert.equal(await create(), 'done');
  nodes.pop();
  assert.deepEqual([await service.change(storeChange(null, 'a')), await create('a')], ['done', 'done']);
  assert.deepEqual(
    functions.all().map(({ library }) => library),
    ['a'],
  );
});

test('the library service keeps a later change of another node that arrives before the own change has ended', async () => {
  const { store, service, functions } = aService();
  await service.start();
  await functions.start();
  const put = store.put.bind(store);
  store.put = async <T>(key: string, value: T, expected: number) => {
    const revision = await put(key, value, expected);
    // Another node changes the same key, and both changes arrive together.
    if (revision !== null) await put(key, key === functionsKey ? noFunctions : { code: 'later' }, revision);
    return revision;
  };
  assert.equal(await service.change(storeChange(null, 'a', 'own')), 'done');
  assert.deepEqual(service.all(), [{ scope: null, name: 'a', code: 'later' }]);
  const definition = { scope: null, name: 'f', parameters: [], isVariadic: false, body: '1' };
  assert.equal(await functions.change({ kind: 'create', definition, replaces: false }), 'done');
  assert.deepEqual(functions.all(), []);
});

test('fields that a newer node stored stay when functions and libraries are changed', async () => {
  const { store, service, functions } = aService();
  await store.put(functionsKey, { ...noFunctions, later: 'a part' }, 0);
  await store.put(`${librariesPrefix}global/a`, { code: 'x', later: 'a part' }, 0);
  await service.start();
  await functions.start();
  await service.change(storeChange(null, 'a', 'y'));
  const definition = { scope: null, name: 'f', parameters: [], isVariadic: false, body: '1' };
  await functions.change({ kind: 'create', definition, replaces: false });
  await functions.change({ kind: 'drop', scope: null, name: 'f' });
  const values = await Promise.all([functionsKey, `${librariesPrefix}global/a`].map((key) => store.get(key)));
  assert.deepEqual(
    values.map((entry) => entry?.value),
    [
      { functions: [], later: 'a part' },
      { code: 'y', later: 'a part' },
    ],
  );
});
