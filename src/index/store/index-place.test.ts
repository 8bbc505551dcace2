// Index files in another folder than the node's data.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { placeIndexFiles, removeIndexFiles } from './index-place.adapter.ts';

describe('the place of index files', () => {
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'divan-index-place-'));
    folder = join(root, 'data', 'index');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (name: string): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), 'rows');
  };

  it('is the folder itself unless another one is set', () => {
    placeIndexFiles(folder, null);
    assert.equal(existsSync(folder), false);
    write('a');
    placeIndexFiles(folder, null);
    assert.deepEqual(readdirSync(folder), ['a']);
  });

  it('keeps the files at each start, and follows the setting', () => {
    const [one, other] = [join(root, 'fast', 'divan-index-1'), join(root, 'fast', 'divan-index-2')];
    write('from-before');
    for (let start = 0; start < 2; start++) placeIndexFiles(folder, one);
    write('a');
    placeIndexFiles(folder, one);
    assert.deepEqual([readdirSync(one), readdirSync(folder)], [['a'], ['a']]);
    placeIndexFiles(folder, other);
    assert.deepEqual([existsSync(one), readdirSync(folder)], [false, []]);
    write('b');
    placeIndexFiles(folder, null);
    assert.deepEqual([existsSync(other), existsSync(folder)], [false, false]);
  });

  it('is created again if it is missing', () => {
    const place = join(root, 'divan-index-1');
    placeIndexFiles(folder, place);
    rmSync(place, { recursive: true });
    placeIndexFiles(folder, place);
    write('a');
    assert.deepEqual(readdirSync(place), ['a']);
  });

  it('is removed together with the link to it', () => {
    const place = join(root, 'divan-index-1');
    placeIndexFiles(folder, place);
    write('a');
    removeIndexFiles(folder);
    assert.deepEqual([existsSync(place), readdirSync(join(root, 'data'))], [false, []]);
    removeIndexFiles(folder);
  });

  it('follows a link that an operator made, and keeps other files at its target', () => {
    const disk = join(root, 'disk');
    mkdirSync(disk);
    mkdirSync(join(root, 'data'));
    symlinkSync(disk, folder);
    write('a');
    placeIndexFiles(folder, null);
    assert.deepEqual(readdirSync(folder), ['a']);
    const place = join(root, 'divan-index-1');
    placeIndexFiles(folder, place);
    assert.deepEqual([readdirSync(disk), readdirSync(folder)], [['a'], []]);
    removeIndexFiles(folder);
    symlinkSync(disk, folder);
    removeIndexFiles(folder);
    assert.deepEqual([readdirSync(disk), existsSync(folder)], [['a'], false]);
  });

  it('is an error if it cannot be created', () => {
    writeFileSync(join(root, 'file'), '');
    assert.throws(() => placeIndexFiles(folder, join(root, 'file', 'x')), { code: 'ENOTDIR' });
  });
});
