import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { aSeed } from '../../../test/support/random.ts';
import { bytesOf, type StagedChange } from './staged-change.ts';
import { StagedChanges, savepointsMax } from './staged-changes.ts';

const keyspace: Keyspace = {
  name: { namespace: 'default', bucket: 'b', scope: '_default', collection: '_default' },
  bucketUuid: 'u',
  scopeId: 0,
  collectionId: 0,
};
const change = (id: string, text: string): StagedChange => ({
  keyspace,
  id,
  kind: 'insert',
  bytes: Buffer.from(text),
  cas: 0n,
  ownCas: 1n,
  expiration: 0,
  stagedByClient: null,
  isUnstaged: true,
});
const changeTexts = (changes: StagedChanges) =>
  [...changes.changesOf(keyspace).values()].map(({ id, bytes }) => `${id}=${bytes}`);

test('a statement sees the changes of earlier statements, not its own', () => {
  const changes = new StagedChanges();
  changes.put(change('a', '1'));
  assert.deepEqual(changeTexts(changes), []);
  assert.equal(String(changes.newest({ keyspace, id: 'a' })?.bytes), '1');
  changes.acceptStatement();
  assert.deepEqual(changeTexts(changes), ['a=1']);
  changes.put(change('a', '2'));
  changes.drop(change('a', '2'));
  assert.equal(changes.newest({ keyspace, id: 'a' }), undefined);
  changes.undoStatement();
  assert.deepEqual(changeTexts(changes), ['a=1']);
});

test('rolling back to a savepoint restores its changes, repeatedly', () => {
  const changes = new StagedChanges();
  const put = (id: string, text: string) => {
    changes.put(change(id, text));
    changes.acceptStatement();
  };
  put('a', '1');
  changes.setSavepoint('s');
  for (const round of [1, 2]) {
    put('a', `2 ${round}`);
    changes.setSavepoint('later');
    put('b', '1');
    changes.drop(change('a', ''));
    changes.acceptStatement();
    assert.deepEqual(changeTexts(changes), ['b=1']);
    changes.rollbackTo('s');
    assert.deepEqual(changeTexts(changes), ['a=1']);
    assert.throws(() => changes.rollbackTo('later'), /later savepoint is not defined/);
  }
});

test('changes and savepoints count as memory until they are released', () => {
  const changes = new StagedChanges();
  changes.put(change('a', 'x'.repeat(1_000)));
  changes.acceptStatement();
  const bytesOfOne = changes.usedBytes;
  assert.ok(bytesOfOne > 1_000);
  changes.put(change('a', 'x'.repeat(1_000)));
  changes.acceptStatement();
  assert.equal(changes.usedBytes, bytesOfOne);
  changes.setSavepoint('s');
  changes.put(change('a', 'y'.repeat(1_000)));
  changes.acceptStatement();
  assert.ok(changes.usedBytes > bytesOfOne * 1.5, 'the savepoint keeps the replaced change');
  changes.rollbackTo('s');
  assert.equal(changes.usedBytes, bytesOfOne);
  changes.clear();
  assert.equal(changes.usedBytes, 0);
});

test('a transaction has a limited number of savepoints', () => {
  const changes = new StagedChanges();
  for (let n = 0; n < savepointsMax; n++) changes.setSavepoint(`s${n}`);
  changes.setSavepoint('s0');
  assert.throws(() => changes.setSavepoint('one more'), /at most/);
  assert.throws(() => new StagedChanges().setSavepoint('s'.repeat(1_001)), { code: 17099 });
});

test('every change has a unique CAS, also within one millisecond', () => {
  const changes = new StagedChanges();
  const first = changes.nextCas(1_000);
  assert.ok(changes.nextCas(1_000) > first);
  assert.ok(changes.nextCas(500) > first);
});

test('the memory of changes is counted exactly, and undoing a statement visits its own changes only', (t) => {
  const below = aSeed(t);
  const changes = new StagedChanges();
  for (let statement = 0; statement < 50; statement++) {
    const before = changes.usedBytes;
    for (let write = 0; write < 10; write++) {
      const next = change(`k${below(8)}`, 'x'.repeat(below(100)));
      if (below(4) > 0) changes.put(next);
      else if (changes.newest(next) !== undefined) changes.drop(next);
    }
    const found = changes.all;
    changes.all = () => assert.fail('all changes are visited');
    const isUndone = below(3) === 0;
    if (isUndone) changes.undoStatement();
    else changes.acceptStatement();
    changes.all = found;
    if (isUndone) assert.equal(changes.usedBytes, before);
    assert.equal(
      changes.usedBytes,
      changes.all().reduce((total, each) => total + bytesOf(each), 0),
    );
  }
});

test('the changes of a statement are accepted in steps', () => {
  const changes = new StagedChanges();
  for (let n = 0; n < 10_000; n++) changes.put(change(`k${n}`, ''));
  const steps = [...changes.acceptInSteps()];
  assert.equal(steps.length, 2);
  assert.equal(changes.all().length, 10_000);
});
