// Handler for the status of the API: any answer means that it is up.
import { type BoundOperation, bind } from '../http/operation.ts';
import { ShowStatus } from './status.contract.ts';

export const statusOperations: readonly BoundOperation[] = [
  bind(ShowStatus, async () => ({ status: 200, body: { status: 'ok' } })),
];
