// Authorizes a request from the declaration of its operation, before validation. A caller of one project cannot find out what other
// projects contain.

import type { Caller } from '../access/caller.ts';
import { projectOf, type Subject } from '../access/subjects.ts';
import { forbidden, notFound } from '../answers/api-error.ts';
import { needOf, type Operation, rolesFor } from './operation.ts';

/** Throws unless the caller's role permits the operation in some project. */
export function requireRole(operation: Operation, { identity: { role } }: Caller): void {
  const roles = rolesFor(operation);
  if (!roles.includes(role))
    throw forbidden(`this needs the role ${roles.join(' or ')}; this token has ${role}`);
}

/** Throws unless the caller has the permission in the project that the body names. */
export function requireNamedProject(operation: Operation, caller: Caller, body: unknown): void {
  const { projectId } = (body ?? {}) as { projectId?: unknown };
  if (operation.subject === undefined && typeof projectId === 'string')
    requireProject(operation, caller, projectId.toLowerCase());
}

/** Throws unless the caller has the permission in this project. */
function requireProject(operation: Operation, caller: Caller, projectId: string): void {
  if (needOf(operation) === 'write') caller.requireWrite(projectId);
  else caller.requireRead(projectId);
}

/** Throws unless the subject exists and the caller has the permission. */
export function requireSubject(
  operation: Operation,
  caller: Caller,
  name: string,
  subject: Subject | undefined,
): asserts subject is Subject {
  // The same answer for the subjects of other projects as for those that do not exist.
  if (subject === undefined || !caller.mayRead(projectOf(subject))) {
    throw caller.readsAll ? notFound(`there is no ${name}`) : forbidden(`this token has no role for ${name}`);
  }
  requireProject(operation, caller, projectOf(subject));
  // v2 does not show hosted clusters.
  if (operation.path.startsWith('/v2/') && 'environment' in subject && subject.environment === 'hosted')
    throw notFound(`${name} is a hosted one: use /v3/clusters/${subject.id}`);
}
