import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionMapping, MappingMode, MappingRules } from './mapping.contract.ts';
import { CollectionRoutes, noCollection, sourceIdOf } from './routes.ts';

const manifestOf = (collections: Readonly<Record<string, number>>): string => {
  const scopes = new Map<string, { name: string; uid: string }[]>();
  for (const [path, id] of Object.entries(collections)) {
    const [scope = '', name = ''] = path.split('.');
    scopes.set(scope, [...(scopes.get(scope) ?? []), { name, uid: id.toString(16) }]);
  }
  return JSON.stringify({ scopes: [...scopes].map(([name, members]) => ({ name, collections: members })) });
};

const source = { '_default._default': 0, 's.a': 8, 's.b': 9, 't.a': 26, '_system._mobile': 27 };
const target = { '_default._default': 0, 's.a': 80, 't.a': 81, 't.b': 82, 'u.x': 83, '_system._mobile': 84 };

function routesOf(mode: MappingMode, rules: MappingRules = {}): CollectionRoutes {
  const routes = new CollectionRoutes({ mode, rules });
  routes.setSource(manifestOf(source));
  routes.setTarget(manifestOf(target));
  return routes;
}

/** By source collection the ids of the targets. */
const targetsOf = (routes: CollectionRoutes): Record<string, number[]> =>
  Object.fromEntries(
    Object.entries(source).map(([name, id]) => [
      name,
      (routes.routesOf(id) ?? []).map(({ targetId }) => targetId),
    ]),
  );

test('implicit mapping maps each collection to the one of the same name, and none of the system scope', () => {
  assert.deepEqual(targetsOf(routesOf('implicit', { s: 'u' })), {
    '_default._default': [0],
    's.a': [80],
    's.b': [noCollection],
    't.a': [81],
    '_system._mobile': [],
  });
  assert.equal(routesOf('implicit').routesOf(77), undefined);
});

test('explicit rules of collections have precedence over those of scopes, also where the target is missing', () => {
  const none = { '_default._default': [], 's.a': [], 's.b': [], 't.a': [], '_system._mobile': [] };
  assert.deepEqual(targetsOf(routesOf('explicit')), none);
  assert.deepEqual(targetsOf(routesOf('explicit', { s: 't' })), { ...none, 's.a': [81], 's.b': [82] });
  assert.deepEqual(targetsOf(routesOf('explicit', { s: 't', 's.a': 'u.x' })), {
    ...none,
    's.a': [83],
    's.b': [82],
  });
  assert.deepEqual(targetsOf(routesOf('explicit', { s: 't', 's.a': 'u.gone', 's.b': null })), {
    ...none,
    's.a': [noCollection],
  });
  assert.deepEqual(targetsOf(routesOf('explicit', { s: null, 's.a': 'u.x', '_default._default': 't.a' })), {
    ...none,
    '_default._default': [81],
    's.a': [83],
  });
});

test('a migration has a route for each rule, from the default collection only', () => {
  const routes = routesOf('migration', { 'EXISTS(a)': 's.a', 'EXISTS(b)': 't.b', 'EXISTS(c)': 's.a' });
  assert.deepEqual(targetsOf(routes), {
    '_default._default': [80, 82, 80],
    's.a': [],
    's.b': [],
    't.a': [],
    '_system._mobile': [],
  });
  assert.equal(new Set(routes.routesOf(0)?.map(({ id }) => id)).size, 3);
  const whole = routesOf('migration', { '_default._default': 'u.x' });
  assert.deepEqual(
    whole.routesOf(0)?.map(({ targetId, filter }) => [targetId, filter]),
    [[83, null]],
  );
});

test('a route keeps its id in another mapping, and the routes that a former mapping lacked are named', () => {
  const former: CollectionMapping = { mode: 'explicit', rules: { s: 't' } };
  const routes = routesOf('explicit', { s: 't', 't.a': 'u.x', '_default._default': '_default._default' });
  const added = routes.newSince(former);
  assert.deepEqual(added.map(sourceIdOf).sort(), [0, 26]);
  assert.deepEqual(
    added.map((id) => routes.find(id)?.targetId),
    [0, 83],
  );
  assert.deepEqual(routes.newSince({ mode: 'implicit', rules: {} }).map(sourceIdOf), [8, 9, 26]);
  assert.deepEqual(routesOf('implicit').newSince({ mode: 'implicit', rules: { a: 'b' } }), []);
  assert.deepEqual(routesOf('explicit').newSince(former), []);
  assert.equal(routesOf('explicit', { s: 't' }).find(added[0] as string), undefined);
  const migration = (expression: string) => routesOf('migration', { [expression]: 's.a' });
  assert.equal(
    migration('EXISTS(a)').newSince({ mode: 'migration', rules: { 'EXISTS(b)': 's.a' } }).length,
    1,
  );
  assert.equal(migration('EXISTS(a)').routesOf(0)?.[0]?.id, migration('EXISTS(a)').routesOf(0)?.[0]?.id);
});

test('the routes to collections that the target has created since are named, except those from collections that the source has created since', () => {
  const routes = routesOf('implicit');
  assert.deepEqual(routes.newest, { source: 27, target: 84 });
  const created = (before: { source: number; target: number }) =>
    routes.toCreatedTargets(before).map(sourceIdOf);
  assert.deepEqual(created({ source: 27, target: 84 }), []);
  assert.deepEqual(created({ source: 27, target: 79 }), [8, 26]);
  assert.deepEqual(created({ source: 27, target: 80 }), [26]);
  assert.deepEqual(created({ source: 8, target: 79 }), [8]);
});
