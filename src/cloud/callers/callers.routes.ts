// Handler that shows the caller its role.
import { type BoundOperation, bind } from '../http/operation.ts';
import { callerReply, ShowCaller } from './callers.contract.ts';

export const callerOperations: readonly BoundOperation[] = [
  bind(ShowCaller, async ({ caller, address }) => ({
    status: 200,
    body: callerReply(caller.identity, address),
  })),
];
