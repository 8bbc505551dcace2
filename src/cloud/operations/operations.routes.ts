// Handlers for operations.
import type { Clock } from '#ports/clock.ts';
import { type BoundOperation, bind } from '../http/operation.ts';
import type { OperationRow } from '../store/tables.ts';
import { operationReply, ShowOperation } from './operations.contract.ts';
import type { OperationKind } from './operations.store.ts';
import { type Plan, planOf } from './step.ts';

/** If an operation is due for this long without a lease, its server does not run. */
const overdueMs = 30_000;

export interface OperationRouteParts {
  plans: Readonly<Record<OperationKind, Plan>>;
  home: string;
  clock: Clock;
}

export const operationOperations = ({ plans, home, clock }: OperationRouteParts): BoundOperation[] => [
  bind(ShowOperation, async ({ subject: operation }) => {
    // A newer version may have begun the operation: of an unknown kind only the present step is known.
    const steps = planOf(plans, operation.kind)?.steps.map(({ name }) => name) ?? [operation.step];
    const isUnattended = operation.home !== home && isOverdue(operation, clock.wallMs());
    const replied = isUnattended ? { ...operation, last_error: waitsFor(operation.home) } : operation;
    return { status: 200, body: operationReply(replied, steps) };
  }),
];

const isOverdue = ({ state, next_at, lease_until }: OperationRow, nowMs: number): boolean =>
  state === 'open' && Math.max(next_at, lease_until) < nowMs - overdueMs;

const waitsFor = (home: string): string =>
  `the operation waits for the server whose data folder has ${home} in its file folder.id: start that server, or write this id into the file folder.id of another server, which then takes over`;
