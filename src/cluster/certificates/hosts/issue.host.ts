// Runs the maker of certificates in a thread of its own, once per request.
import { startWorker } from '#ports/worker.ts';
import type { Issued, IssueRequest } from '../issue.ts';

export function issueInThread(request: IssueRequest): Promise<Issued> {
  const { promise, resolve, reject } = Promise.withResolvers<Issued>();
  const worker = startWorker(new URL('./issue-worker', import.meta.url), import.meta.url, {
    workerData: request,
  });
  worker.once('message', (issued: Issued) => {
    resolve(issued);
    void worker.terminate();
  });
  worker.once('error', (error) => reject(new Error('cannot make certificates', { cause: error })));
  worker.once('exit', () => reject(new Error('the maker of certificates ended without an answer')));
  return promise;
}
