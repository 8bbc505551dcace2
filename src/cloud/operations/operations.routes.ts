// Requests about operations.
import { type BoundOperation, bind } from '../http/operation.ts';
import { operationReply, ShowOperation } from './operations.contract.ts';
import type { OperationKind } from './operations.store.ts';
import type { Plan } from './step.ts';

export const operationOperations = (plans: Readonly<Record<OperationKind, Plan>>): BoundOperation[] => [
  bind(ShowOperation, async ({ subject: operation }) => {
    const steps = plans[operation.kind as OperationKind].steps.map(({ name }) => name);
    return { status: 200, body: operationReply(operation, steps) };
  }),
];
