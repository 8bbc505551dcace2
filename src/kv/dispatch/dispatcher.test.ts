import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandTable } from '#wire/commands/index.ts';
import { Noop } from '#wire/commands/session.ts';
import type { Command } from '#wire/define-command.ts';
import { emptyFrame, type Frame, frameBytesMax, readFrame, responseStatus } from '#wire/frame.ts';
import { encodeRequest, Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { Documents, WhenFetched } from '../data/documents.ts';
import type { HeavyResult } from '../heavy/jobs.ts';
import { HeldReply, type PartialReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { Session } from '../session/session.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Environment } from './environment.ts';
import { AfterFrame, type Handler, Outcome, type Request } from './request.ts';

const commands = commandTable.filter((command): command is Command => command !== undefined);
const handlersOf = (handler: Handler) => new Map(commands.map((command) => [command, handler]));

function aNoop(): Frame {
  const bytes = encodeRequest({ opcode: Noop.opcode });
  const frame = emptyFrame();
  readFrame(bytes, 0, bytes.length, frame, frameBytesMax);
  return frame;
}

test('what a command has composed is there in its next run, and released when the disk is not asked again', () => {
  const composed: PartialReply = { value: Buffer.alloc(1024), valueEnd: 0, nextEntry: 0 };
  const found: (PartialReply | null)[] = [];
  const handler = (request: Request): Outcome => {
    found.push(request.resumed?.partial ?? null);
    request.partial = composed;
    return Outcome.notResident;
  };
  const { fetched, held, request } = aRequest(handler);
  fetched(false);
  assert.deepEqual([held.length, held[1]?.partial === composed, request.partial], [2, true, null]);
  fetched(true);
  assert.deepEqual([held.length, request.partial], [2, null], 'the request was refused');
  assert.ok(found[0] === null && found[1] === composed && found[2] === composed);
  assert.equal(held[1]?.status, Status.success);
});

test('an error while a reply is held closes only this connection', () => {
  const handler = (request: Request): Outcome =>
    request.deferWork(() => {
      throw new Error('no memory');
    });
  const failures: unknown[] = [];
  const log = { error: (event: string) => failures.push(event) };
  const environment = { clock: { monotonicMs: () => 0 }, log } as unknown as Environment;
  const output = new Output();
  const dispatcher = new Dispatcher(environment, output, handlersOf(handler));
  const session = new Session();
  const held = { frame: Buffer.alloc(0) };
  const connection = {
    session,
    heldCount: 0,
    heavyCount: 0,
    holdReply: () => held,
    detachFrame: () => held.frame,
  };
  assert.equal(dispatcher.run(connection as unknown as Client, aNoop()), AfterFrame.close);
  const reply = emptyFrame();
  readFrame(output.buffer, 0, output.end, reply, frameBytesMax);
  assert.deepEqual([reply.end, responseStatus(reply)], [output.end, Status.internalError]);
  assert.deepEqual(failures, ['command.failed']);
});

/** A request that `handler` runs; `heavyDone` and `fetched` run it again, once heavy work is done or its document was read. */
function aRequest(handler: Handler) {
  const environment = {
    clock: { monotonicMs: () => 0 },
    heavy: { run: async () => ({}) as HeavyResult },
  } as unknown as Environment;
  const dispatcher = new Dispatcher(environment, new Output(), handlersOf(handler));
  let whenFetched: WhenFetched = () => {};
  dispatcher.request.documents = {
    awaitDisk: (done: WhenFetched) => (whenFetched = done),
    provideFetched: () => {},
  } as unknown as Documents;
  const held: HeldReply[] = [];
  const head = { opcode: Noop.opcode, opaque: 0, order: 'ordered' as const, quiet: false, startedMs: -1 };
  const connection = {
    session: new Session(),
    heldCount: 0,
    heavyCount: 0,
    holdReply: () => {
      held.push(new HeldReply({ replyResolved: () => {} }, head, Buffer.alloc(0)));
      return held.at(-1);
    },
    detachFrame: ({ buffer, end, start }: Frame) => Buffer.from(buffer.subarray(start, end)),
  } as unknown as Client;
  const rerun = (): void => void dispatcher.rerun(connection, held.at(-1) as HeldReply);
  dispatcher.run(connection, aNoop());
  return {
    held,
    request: dispatcher.request,
    heavyDone: async () => {
      while (held.at(-1)?.status === null) await new Promise((resolve) => setImmediate(resolve));
      rerun();
    },
    fetched: (lacksRoom: boolean) => {
      whenFetched({ vb: 0, key: Buffer.alloc(0), item: null, lacksRoom });
      rerun();
    },
  };
}

const work = { job: { kind: 'validate', parts: [], encoding: 0, room: 0 } } as const;

test('heavy work is not done again because its result was there before the document', async () => {
  const runs: string[] = [];
  const { held, heavyDone, fetched } = aRequest((request) => {
    runs.push(
      `${request.heavy?.result ? 'result' : 'no result'}, ${request.resumed?.fetched ? 'document' : 'no document'}`,
    );
    if (!request.heavy?.result) return request.deferWork(() => work);
    return request.resumed?.fetched ? Status.success : Outcome.notResident;
  });
  await heavyDone();
  fetched(false);
  assert.deepEqual(runs, ['no result, no document', 'result, no document', 'result, document']);
  assert.equal(held.length, 2);
});

test('a change fails temporarily if memory has no room for its document, also if it needs heavy work', async () => {
  const { held, heavyDone, fetched } = aRequest((request) =>
    request.resumed?.fetched ? request.deferWork(() => work) : Outcome.notResident,
  );
  fetched(true);
  await heavyDone();
  assert.equal(held.length, 2, 'the document is not read again');
});
