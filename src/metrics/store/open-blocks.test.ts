import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBlock } from './block.ts';
import type { StoreFiles } from './files.ts';
import { OpenBlocks } from './open-blocks.ts';

const bytes = Buffer.concat(encodeBlock([]));

/** A folder whose files are empty blocks, and which counts the open ones. */
function aFolder() {
  const folder = { open: 0, failing: false };
  const files: Pick<StoreFiles, 'open'> = {
    async open() {
      if (folder.failing) throw new Error('no such file');
      folder.open++;
      let isOpen = true;
      return {
        async read(at, length) {
          if (!isOpen) throw new Error('file closed');
          return bytes.subarray(at, at + length);
        },
        async close() {
          isOpen = false;
          folder.open--;
        },
      };
    },
  };
  return { folder, blocks: new OpenBlocks(files) };
}

const blockOf = (index: number) => ({ name: `${index}.block`, bytes: bytes.length });
const hundred = Array.from({ length: 100 }, (_, index) => blockOf(index));

test('more blocks than the limit stay open while they are read, and the surplus is closed afterwards', async () => {
  const { folder, blocks } = aFolder();
  const all = Promise.withResolvers<void>();
  let reading = 0;
  const read = () =>
    Promise.all(
      hundred.map((block) =>
        blocks.use(block, async ({ file }) => {
          if (++reading === 200) all.resolve();
          await all.promise;
          return (await file.read(0, 1)).length;
        }),
      ),
    );
  const lengths = await Promise.all([read(), read()]);
  assert.deepEqual(new Set(lengths.flat()), new Set([1]));
  assert.equal(folder.open, 64);
  await blocks.closeAll();
  assert.equal(folder.open, 0);
});

test('a block that is removed while it is read is closed afterwards', async () => {
  const { folder, blocks } = aFolder();
  await blocks.use(blockOf(1), async ({ file }) => {
    await blocks.close('1.block');
    assert.equal((await file.read(0, 1)).length, 1);
    assert.equal(folder.open, 1);
  });
  assert.equal(folder.open, 0);
});

test('a block whose file could not be opened is opened again for the next read', async () => {
  const { folder, blocks } = aFolder();
  folder.failing = true;
  await assert.rejects(
    blocks.use(blockOf(1), async () => {}),
    /no such file/,
  );
  folder.failing = false;
  assert.equal(await blocks.use(blockOf(1), async () => 'read'), 'read');
});
