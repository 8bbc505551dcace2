// Requests about operations. An operation outlives its cluster, and with it whose project it was: so it keeps that itself.
import { forbidden, notFound } from '../http/goof.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import { operationReply, ShowOperation } from './operations.contract.ts';
import type { OperationKind, OperationsStore } from './operations.store.ts';
import type { Plan } from './step.ts';

export interface OperationRouteParts {
  operations: OperationsStore;
  plans: Readonly<Record<OperationKind, Plan>>;
}

export const operationOperations = ({ operations, plans }: OperationRouteParts): BoundOperation[] => [
  bind(ShowOperation, async ({ caller, params }) => {
    const id = params['id'] as string;
    const row = await operations.get(id);
    if (row === undefined) {
      throw caller.readsAll
        ? notFound(`there is no operation ${id}`)
        : forbidden(`this token has no role for operation ${id}`);
    }
    caller.needRead(row.project_id);
    return {
      status: 200,
      body: operationReply(
        row,
        plans[row.kind as OperationKind].steps.map(({ name }) => name),
      ),
    };
  }),
];
