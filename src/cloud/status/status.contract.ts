// The one operation that needs no credentials.
import { z } from 'zod';
import { component } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';

export const ShowStatus = defineOperation({
  id: 'status/show',
  method: 'GET',
  path: '/v2/status',
  doc: 'Whether the API is up.',
  access: 'open',
  replies: { 200: { doc: 'Up', body: component('StatusOK', { status: z.string() }) } },
});
