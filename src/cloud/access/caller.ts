// The caller of an operation and the permissions of its role.
import { forbidden } from '../answers/api-error.ts';

export const roles = ['organizationOwner', 'projectOwner', 'projectViewer', 'reader'] as const;
export type Role = (typeof roles)[number];

/** True for roles that apply to one project, which must be named. */
export const isProjectRole = (role: Role): boolean => role === 'projectOwner' || role === 'projectViewer';

export interface TokenIdentity {
  readonly tokenId: string;
  readonly role: Role;
  /** The project that a project role is for. */
  readonly projectId: string | null;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/**
 * organizationOwner: everything. projectOwner: everything under its project, but neither creating nor deleting projects.
 * projectViewer: reads everything under its project. reader: reads everything.
 */
export class Caller {
  readonly identity: TokenIdentity;
  /** Callers with an equal value have the same permissions and see the same objects. */
  readonly permissionsKey: string;

  constructor(identity: TokenIdentity) {
    this.identity = identity;
    this.permissionsKey = `${identity.role} ${identity.projectId}`;
  }

  get ownsOrganization(): boolean {
    return this.identity.role === 'organizationOwner';
  }

  get readsAll(): boolean {
    return this.ownsOrganization || this.identity.role === 'reader';
  }

  /** The only project that this caller sees; null: all. */
  get onlyProject(): string | null {
    return this.readsAll ? null : this.identity.projectId;
  }

  mayRead(projectId: string): boolean {
    return this.readsAll || this.identity.projectId === projectId;
  }

  mayWrite(projectId: string): boolean {
    if (this.ownsOrganization) return true;
    return this.identity.role === 'projectOwner' && this.identity.projectId === projectId;
  }

  requireRead(projectId: string): void {
    if (!this.mayRead(projectId)) throw forbidden(`this token has no role in project ${projectId}`);
  }

  requireWrite(projectId: string): void {
    if (!this.mayWrite(projectId))
      throw forbidden(
        `this needs organizationOwner, or projectOwner of project ${projectId}; this token has ${this.identity.role}`,
      );
  }
}
