// The interface through which the pipeline reports requests to the audit trail. Every route that changes something passes here,
// so none is missed.
import type { Identity, RouteDefinition } from '#contract/route.ts';

/** A change that succeeded. Query and body are as they were sent, secrets included. */
export interface ChangeMade {
  readonly route: RouteDefinition;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly identity: Identity;
  /** The authenticated sender, if the request was made on behalf of `identity`. */
  readonly sender?: Identity;
  readonly remoteAddress: string;
  readonly isTls: boolean;
}

/** A request with wrong credentials or missing permissions. */
export interface RequestRefused {
  readonly reason: 'credentials' | 'permission';
  /** The claimed name; not verified if there is no `sender`. */
  readonly user: string;
  /** Who sent the request, if it was authenticated. */
  readonly sender?: Identity;
  /** On whose behalf the request was made, if it was for another user. */
  readonly effective?: Identity;
  readonly remoteAddress: string;
  readonly route: RouteDefinition;
}

/** Neither call may throw or block. */
export interface Audit {
  changed(change: ChangeMade): void;
  refused(request: RequestRefused): void;
}
