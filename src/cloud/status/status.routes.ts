// Answers whether the API is up; that an answer comes is the answer.
import { type BoundOperation, bind } from '../http/operation.ts';
import { ShowStatus } from './status.contract.ts';

export const statusOperations: readonly BoundOperation[] = [
  bind(ShowStatus, async () => ({ status: 200, body: { status: 'ok' } })),
];
