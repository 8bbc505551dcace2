import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands, commandTable } from './commands/index.ts';
import { layoutProblem } from './define-command.ts';
import { errorMapJson } from './error-map.ts';
import { grantFeatures } from './features.ts';
import { emptyFrame, readFrame } from './frame.ts';
import { encodeRequest, type RequestParts } from './output.ts';
import { Status } from './status.ts';

const problem = (parts: RequestParts): string | null => {
  const bytes = encodeRequest(parts);
  const frame = emptyFrame();
  readFrame(bytes, 0, bytes.length, frame, 1e6);
  return layoutProblem(commandTable[parts.opcode]!, frame);
};
const key = Buffer.from('\0k');

test('every command accepts its own layout and refuses each part that it does not declare', () => {
  assert.ok(commands.length > 60);
  for (const command of commands) {
    const { opcode } = command;
    const size = command.request?.extras?.[0] ?? 0;
    const wellFormed: RequestParts = { opcode, extras: Buffer.alloc(size) };
    if (command.keyRule > 0) wellFormed.key = key;
    if (command.valueRule > 0) wellFormed.value = Buffer.from('v');
    if (command.casRule > 0) wellFormed.casLo = 1;
    assert.equal(problem(wellFormed), null, command.name);
    assert.match(problem({ ...wellFormed, extras: Buffer.alloc(31) })!, /extras/, command.name);
    const noKey = command.keyRule === 0 ? { ...wellFormed, key } : { ...wellFormed, key: Buffer.alloc(0) };
    const keyProblem = problem(noKey);
    assert.ok(
      command.request?.key === 'optional' ? keyProblem === null : keyProblem?.includes('key'),
      command.name,
    );
    const casProblem = problem({ ...wellFormed, casLo: command.casRule === 0 ? 1 : 0 });
    assert.equal(casProblem !== null, command.casRule !== 1, command.name);
  }
});

test('the commands that may be durable or preserve the expiry are those of the published table', () => {
  const names = (flag: 'durability' | 'preserveTtl') =>
    commands
      .filter((command) => command[flag] && !command.name.startsWith('SUBDOC') && !command.name.endsWith('Q'))
      .map((c) => c.name);
  assert.deepEqual(names('durability').sort(), [
    'ADD',
    'APPEND',
    'DECR',
    'DELETE',
    'GAT',
    'INCR',
    'PREPEND',
    'REPLACE',
    'SET',
    'TOUCH',
  ]);
  assert.deepEqual(names('preserveTtl').sort(), ['APPEND', 'DECR', 'INCR', 'PREPEND', 'REPLACE', 'SET']);
});

test('each known feature is granted once, in the requested order, and none without the feature that it depends on', () => {
  assert.deepEqual(grantFeatures([0x12, 0x99, 0x03, 0x12]), [0x12, 0x03]);
  assert.equal(grantFeatures([0x0d]), null);
  assert.deepEqual(grantFeatures([0x0d, 0x0c]), [0x0d, 0x0c]);
  assert.equal(grantFeatures([0x15]), null);
});

test('the error map describes every status', () => {
  const { errors } = JSON.parse(errorMapJson(2)) as { errors: Record<string, object> };
  const missing = Object.entries(Status).filter(([, code]) => errors[code.toString(16)] === undefined);
  assert.deepEqual(missing, []);
});

test('the error map has the keys that clients require, in the requested format', () => {
  const map = JSON.parse(errorMapJson(7)) as {
    version: number;
    revision: number;
    errors: Record<string, object>;
  };
  assert.equal(map.version, 2);
  assert.deepEqual(map.errors['a2'], {
    name: 'SYNC_WRITE_IN_PROGRESS',
    desc: 'A durable write is in progress',
    attrs: ['item-only', 'retry-later'],
  });
  assert.equal((JSON.parse(errorMapJson(1)) as { version: number }).version, 1);
  assert.ok(!errorMapJson(1).includes('item-deleted'));
});
