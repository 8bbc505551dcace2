import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Status } from '#wire/status.ts';
import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { aSeed, type Random, randomJson } from '../../../test/support/random.ts';
import { lookUp, lookUpAll } from './operations.ts';

const opcodes = [SubdocOpcode.get, SubdocOpcode.exists, SubdocOpcode.getCount];
const names = ['a', 'b', 'c', '', 'x y', 'é', '\\u0061', 'zz'];

/** A path that often exists: it follows the value and deviates sometimes. */
function randomPath(random: Random, value: unknown): string {
  let path = '';
  let at: unknown = value;
  for (let level = random(5); level > 0; level--) {
    if (Array.isArray(at) ? random(6) > 0 : random(12) === 0) {
      const length = Array.isArray(at) ? at.length : 3;
      const index = random(4) === 0 ? -1 : random(length + 1);
      path += `[${index}]`;
      at = Array.isArray(at) ? at.at(index) : undefined;
      continue;
    }
    const keys = typeof at === 'object' && at !== null ? Object.keys(at) : [];
    const name = (random(4) > 0 ? keys[random(keys.length + 1)] : undefined) ?? names[random(names.length)]!;
    path += `${path === '' ? '' : '.'}\`${name.replaceAll('`', '``')}\``;
    at = (at as Record<string, unknown> | undefined)?.[name];
  }
  return path;
}

test('one pass over all paths finds the same as a separate pass for each', (t) => {
  const random = aSeed(t);
  const seen = new Map<number, number>();
  for (let round = 0; round < 3000; round++) {
    const members = Array.from({ length: 1 + random(4) }, () => randomJson(random, random(5)));
    const value = random(2) === 0 ? members : { ...members, a: members[0] };
    const text = Buffer.from(JSON.stringify(value, null, random(3) === 0 ? 1 : 0));
    const lookups = Array.from({ length: 1 + random(16) }, () => ({
      opcode: opcodes[random(3)]!,
      path: Buffer.from(randomPath(random, value)),
    }));
    const found = lookUpAll(text, lookups);
    for (const [index, { opcode, path }] of lookups.entries()) {
      const alone = lookUp(opcode, text, path);
      assert.deepEqual(found[index], alone, `${path} of ${text}`);
      seen.set(alone.status, (seen.get(alone.status) ?? 0) + 1);
    }
  }
  for (const status of [Status.success, Status.subdocPathNotFound, Status.subdocPathMismatch])
    assert.ok((seen.get(status) ?? 0) > 1000, `only ${seen.get(status)} answers ${status}`);
});

const nested = (depth: number, inner = '1'): string => '['.repeat(depth) + inner + ']'.repeat(depth);

test('one pass over all paths reports the depth limit like a separate pass for each', () => {
  const texts = [
    nested(31),
    nested(32),
    nested(33),
    `[1,${nested(33)},2]`,
    `{"a":1,"b":${nested(32)},"c":2}`,
  ];
  const paths = ['', '[0]', '[1]', '[2]', '[-1]', 'a', 'b', 'c', '[0]'.repeat(31), '[0]'.repeat(32)];
  paths.push('[-1]'.repeat(32), 'b[0][0]', '[1][0]');
  for (const source of texts) {
    const text = Buffer.from(source);
    for (const opcode of opcodes) {
      const lookups = paths.map((path) => ({ opcode, path: Buffer.from(path) }));
      const found = lookUpAll(text, lookups);
      for (const [index, { path }] of lookups.entries())
        assert.deepEqual(found[index], lookUp(opcode, text, path), `${opcode} ${path} of ${source}`);
    }
  }
});
