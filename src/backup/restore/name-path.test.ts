// Names with dots in requests of a restore: `a.b` may be a bucket, or a scope of the bucket `a`.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BucketRecord } from '../format/manifest.ts';
import { NameFilter } from './name-filter.ts';
import { NameMap } from './name-map.ts';

const record = (name: string, scope: string, collection: string): BucketRecord =>
  ({
    name,
    scopes: [scope],
    collections: [{ scope, name: collection }],
    indexes: [],
  }) as unknown as BucketRecord;
const records = [record('a.b', 'c', 'd'), record('a', 'b', 'c')];
const target = (map: NameMap, bucket: string, scope: string, collection: string) =>
  Object.values(map.targetOf({ bucket, scope, collection })).join(' ');
const chosen = (includes: string[], excludes: string[] = []) => {
  const filter = new NameFilter({ includes, excludes });
  filter.checkNames(records);
  return filter.limitedToChosen(records).map(({ name }) => name);
};

describe('a name with dots', () => {
  it('is refused where it names two things', () => {
    const message = /two things named "a\.b": write `a\.b` or `a`\.`b`/;
    assert.throws(() => new NameMap(['a.b=x.y'], records), message);
    assert.throws(() => new NameMap(['a.b.c=x.y.z'], records), /write `a\.b`\.`c` or `a`\.`b`\.`c`/);
    assert.throws(() => chosen(['a.b']), message);
    assert.throws(() => chosen([], ['a.b']), message);
  });

  it('needs no backquotes where it names one thing', () => {
    const map = new NameMap(['a.b.c.d=x.y.z'], records);
    assert.equal(target(map, 'a.b', 'c', 'd'), 'x y z');
    assert.deepEqual(chosen(['a.b.c.d']), ['a.b']);
  });

  it('is exact in backquotes, on both sides', () => {
    const bucket = new NameMap(['`a.b`=x.y'], records);
    assert.equal(target(bucket, 'a.b', 'c', 'd'), 'x.y c d');
    assert.equal(target(bucket, 'a', 'b', 'c'), 'a b c');
    const scope = new NameMap(['`a`.b=`x.y`.z'], records);
    assert.equal(target(scope, 'a.b', 'c', 'd'), 'a.b c d');
    assert.equal(target(scope, 'a', 'b', 'c'), 'x.y z c');
    assert.deepEqual(
      [chosen(['`a.b`']), chosen([], ['`a.b`']), chosen(['`a`.`b`'])],
      [['a.b'], ['a'], ['a']],
    );
  });

  it('is refused with unpaired backquotes, and with another number of names on the other side', () => {
    assert.throws(() => new NameMap(['`a.b=x'], records), /no bucket, scope or collection "`a\.b"/);
    assert.throws(() => new NameMap(['`a.b`=`x`.y'], records), /as many names/);
    assert.throws(() => new NameMap(['`a`.b=x'], records), /as many names/);
    assert.throws(() => new NameMap(['`a`.b=.x'], records), /as many names/);
  });
});
