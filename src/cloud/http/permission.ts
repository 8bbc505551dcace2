// Whether a caller may do what it asks for: decided from the declaration of the operation alone, before the form of the request
// is judged. Whoever sees one project learns nothing of what exists beside it.

import type { Caller } from '../access/caller.ts';
import { projectOf, type Subject } from '../access/subjects.ts';
import { forbidden, notFound } from '../answers/api-error.ts';
import { needOf, type Operation, rolesFor } from './operation.ts';

/** Throws unless the role of the caller is one that may, wherever. */
export function needRole(operation: Operation, { identity: { role } }: Caller): void {
  const roles = rolesFor(operation);
  if (!roles.includes(role))
    throw forbidden(`this needs the role ${roles.join(' or ')}; this token has ${role}`);
}

/** Throws unless the caller may in the project that a body names; who may not in any has been refused before. */
export function needNamedProject(operation: Operation, caller: Caller, body: unknown): void {
  const { projectId } = (body ?? {}) as { projectId?: unknown };
  if (operation.subject === undefined && typeof projectId === 'string')
    needProject(operation, caller, projectId.toLowerCase());
}

/** Throws unless the caller may in this project. */
function needProject(operation: Operation, caller: Caller, projectId: string): void {
  if (needOf(operation) === 'write') caller.needWrite(projectId);
  else caller.needRead(projectId);
}

/** Throws unless the subject is there and the caller may. */
export function needSubject(
  operation: Operation,
  caller: Caller,
  name: string,
  subject: Subject | undefined,
): asserts subject is Subject {
  if (subject === undefined) {
    throw caller.readsAll ? notFound(`there is no ${name}`) : forbidden(`this token has no role for ${name}`);
  }
  needProject(operation, caller, projectOf(subject));
  // Hosted clusters are none of v2's.
  if (operation.path.startsWith('/v2/') && 'environment' in subject && subject.environment === 'hosted')
    throw notFound(`${name} is a hosted one: use /v3/clusters/${subject.id}`);
}
