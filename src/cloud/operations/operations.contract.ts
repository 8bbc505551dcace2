// Operations: work on a cluster, readable during and after it.
import { z } from 'zod';
import { component, dateOf, dateTime, uuidField } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';
import type { OperationRow } from '../store/tables.ts';
import type { OperationKind } from './operations.store.ts';

const operationSchema = component('Operation', {
  id: uuidField(),
  clusterId: uuidField(),
  kind: z.enum(['create', 'scale', 'delete']),
  state: z.enum(['open', 'done', 'failed']),
  step: z.string(),
  steps: z.array(z.string()).describe('all steps of this kind of change, in order'),
  progress: z.int().min(0).max(100).describe('percent of the steps that are done'),
  attempts: z.int().min(0).describe('how often the present step has failed'),
  lastError: z.string().optional(),
  createdAt: dateTime(),
  updatedAt: dateTime(),
  deadline: dateTime(),
});

export const ShowOperation = defineOperation({
  id: 'operations/show',
  method: 'GET',
  path: '/v3/operations/{id}',
  subject: 'operation',
  doc: 'The progress of a change of a cluster, and the last error.',
  access: 'token',
  replies: { 200: { doc: 'The operation', body: operationSchema } },
});

export function operationReply(
  row: OperationRow,
  steps: readonly string[],
): z.output<typeof operationSchema> {
  // A step of a newer version is not among the steps.
  const done = row.state === 'done' ? steps.length : Math.max(0, steps.indexOf(row.step));
  return {
    id: row.id,
    clusterId: row.cluster_id,
    kind: row.kind as OperationKind,
    state: row.state as 'open' | 'done' | 'failed',
    step: row.step,
    steps: [...steps],
    progress: Math.floor((100 * done) / steps.length),
    attempts: row.attempts,
    ...(row.last_error !== null && { lastError: row.last_error }),
    createdAt: dateOf(row.created_at),
    updatedAt: dateOf(row.updated_at),
    deadline: dateOf(row.deadline),
  };
}
