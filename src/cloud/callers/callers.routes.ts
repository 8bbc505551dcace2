// The handler of the operation that returns what the token of the client may do, and the address of the client.
import { type BoundOperation, bind } from '../http/operation.ts';
import { callerReply, ShowCaller } from './callers.contract.ts';

export const callerOperations: readonly BoundOperation[] = [
  bind(ShowCaller, async ({ caller, address }) => ({
    status: 200,
    body: callerReply(caller.identity, address),
  })),
];
