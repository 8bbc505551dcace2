import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandTable } from '#wire/commands/index.ts';
import { Noop } from '#wire/commands/session.ts';
import type { Command } from '#wire/define-command.ts';
import { emptyFrame, frameBytesMax, readFrame } from '#wire/frame.ts';
import { encodeRequest, Output } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import type { Documents, WhenFetched } from '../data/documents.ts';
import { HeldReply, type PartialReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { Session } from '../session/session.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Environment } from './environment.ts';
import { Outcome, type Request } from './request.ts';

test('what a command has composed is there in its next run, and released when the disk is not asked again', () => {
  const composed: PartialReply = { value: Buffer.alloc(1024), valueEnd: 0, nextEntry: 0 };
  const found: (PartialReply | null)[] = [];
  const handler = (request: Request): Outcome => {
    found.push(request.resumed?.partial ?? null);
    request.partial = composed;
    return Outcome.notResident;
  };
  const commands = commandTable.filter((command): command is Command => command !== undefined);
  const handlers = new Map(commands.map((command) => [command, handler]));
  const environment = { clock: { monotonicMs: () => 0 } } as unknown as Environment;
  const dispatcher = new Dispatcher(environment, new Output(), handlers);
  const { request } = dispatcher;
  let whenFetched: WhenFetched = () => {};
  request.documents = {
    awaitDisk: (done: WhenFetched) => (whenFetched = done),
    provideFetched: () => {},
  } as unknown as Documents;
  const held: HeldReply[] = [];
  const head = { opcode: Noop.opcode, opaque: 0, order: 'ordered' as const, quiet: false, startedMs: -1 };
  const connection = {
    session: new Session(),
    heldCount: 0,
    holdReply: () => {
      held.push(new HeldReply({ replyResolved: () => {} }, head, Buffer.alloc(0)));
      return held.at(-1);
    },
  } as unknown as Client;
  const rerun = (lacksRoom: boolean): void => {
    whenFetched({ vb: 0, key: Buffer.alloc(0), item: null, lacksRoom });
    dispatcher.rerun(connection, held.at(-1) as HeldReply);
  };
  const bytes = encodeRequest({ opcode: Noop.opcode });
  const frame = emptyFrame();
  readFrame(bytes, 0, bytes.length, frame, frameBytesMax);
  dispatcher.run(connection, frame);
  rerun(false);
  assert.deepEqual([held.length, held[1]?.partial === composed, request.partial], [2, true, null]);
  rerun(true);
  assert.deepEqual([held.length, request.partial], [2, null], 'the request was refused');
  assert.ok(found[0] === null && found[1] === composed && found[2] === composed);
  assert.equal(held[1]?.status, Status.success);
});
