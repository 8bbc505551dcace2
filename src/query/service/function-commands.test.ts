// EXECUTE FUNCTION: how often its arguments are evaluated, and which failures are those of the function.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PrepareContext } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { contextOf, prepareOn } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import type { CommandContext } from './command-context.ts';
import { executeFunction } from './function-commands.ts';

const bodies: Readonly<Record<string, string>> = {
  kept: 'x',
  missing: 'x IS MISSING',
  refusing: 'ABORT("no " || x)',
};
const userFunctions: NonNullable<PrepareContext['userFunctions']> = {
  find: (path) => ({
    parameters: ['x'],
    isVariadic: false,
    language: 'inline',
    body: bodies[path.at(-1) as string] as string,
  }),
};

/** Calls the function with this argument; `requests` are the addresses that CURL() was called with. */
async function execute(name: string, argument: string) {
  const datastore = new MemoryDatastore();
  const requests: Value[] = [];
  const context = {
    ...contextOf(datastore),
    curl: async ([address]: readonly Value[]) => {
      requests.push(address);
      return 'answer';
    },
    authorize: async () => {},
  };
  const prepareText = (text: string) => prepareOn(datastore, text, { userFunctions });
  const chooser = { prepareText, prepareCached: prepareText };
  const command = {
    kind: 'EXECUTE_FUNCTION',
    name: { namespace: 'default', bucket: '', scope: '', name },
    isKnown: true,
    arguments: [argument],
  } as const;
  const rows: Value[] = [];
  let failure: unknown;
  try {
    for await (const batch of executeFunction(command, { chooser, context } as unknown as CommandContext))
      rows.push(...batch);
  } catch (error) {
    failure = error;
  }
  return { rows, requests, failure };
}

test('an argument is evaluated once, even if the function fails', async () => {
  const kept = await execute('kept', 'CURL("http://a")');
  assert.deepEqual(kept, { rows: ['answer'], requests: ['http://a'], failure: undefined });
  const { requests, failure } = await execute('refusing', 'CURL("http://a")');
  assert.deepEqual(requests, ['http://a']);
  assert.equal((failure as Error).message, "Error executing function 'refusing'  - cause: no answer");
});

test('a failure of an argument is not one of the function', async () => {
  const { requests, failure } = await execute('kept', 'ABORT(CURL("http://a"))');
  assert.deepEqual(requests, ['http://a']);
  assert.equal((failure as Error).message, 'Abort: answer.');
});

test('a missing argument stays missing', async () => {
  const { rows } = await execute('missing', 'MISSING');
  assert.deepEqual(rows, [true]);
});
