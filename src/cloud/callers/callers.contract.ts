// The operation that returns what the token of the client may do, and the address from which its request came.
import { z } from 'zod';
import { roles, type TokenIdentity } from '../access/caller.ts';
import { choice, component, dateOf, dateTime, uuidField } from '../answers/component.ts';
import { defineOperation } from '../http/operation.ts';

const callerSchema = component('Caller', {
  tokenId: uuidField(),
  role: choice('callerRole', roles),
  projectId: uuidField().optional().describe('the project that a project role is for'),
  expiresAt: dateTime().optional().describe('when the token expires'),
  address: z
    .string()
    .describe(
      'the address from which the request came, as in an allowlist; behind a proxy, the address of the proxy',
    ),
});

export const ShowCaller = defineOperation({
  id: 'callers/show',
  method: 'GET',
  path: '/v3/caller',
  doc: 'The role and the expiry of the token that sends the request, and the address from which it comes.',
  access: 'token',
  needs: 'any',
  replies: { 200: { doc: 'The caller', body: callerSchema } },
});

export const callerReply = (
  { tokenId, role, projectId, expiresAt }: TokenIdentity,
  address: string,
): z.output<typeof callerSchema> => ({
  tokenId,
  role,
  ...(projectId !== null && { projectId }),
  ...(expiresAt !== null && { expiresAt: dateOf(expiresAt) }),
  address,
});
