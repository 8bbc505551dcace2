// Connects the query thread with the memory of the data service.
import type { MessagePort } from 'node:worker_threads';
import { SharedDocuments } from '#kv/memory/shared-documents.ts';
import { processMs, realClock } from '#ports/clock.ts';
import { collectGarbage } from '#ports/spare-memory.ts';
import type { DataMessage } from '#wire/document-batch.ts';

export function readMemory(documents: MessagePort): SharedDocuments {
  const shared = new SharedDocuments({
    send: (request) => documents.postMessage(request),
    clock: { wallMs: realClock.wallMs, processMs, after: realClock.after },
    collectGarbage,
  });
  documents.on('message', (message: DataMessage) => {
    if ('kind' in message) shared.receive(message);
  });
  return shared;
}
