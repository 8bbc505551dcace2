// What the pipeline tells of requests to whoever keeps an audit trail. Every route that changes something passes here, so
// none is forgotten.
import type { Identity, RouteDefinition } from '#contract/route.ts';

/** A change that was made. Query and body are as they were sent, secrets included. */
export interface ChangeMade {
  readonly route: RouteDefinition;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly identity: Identity;
  /** Who sent the request, where that was on behalf of the identity. */
  readonly sender?: Identity;
  readonly remoteAddress: string;
  readonly tls: boolean;
}

/** A request of someone whose credentials were wrong, or whose roles do not reach. */
export interface RequestRefused {
  readonly reason: 'credentials' | 'permission';
  /** As claimed; nobody has shown to be that. */
  readonly user: string;
  readonly remoteAddress: string;
  readonly route: RouteDefinition;
}

/** Neither call may throw or wait. */
export interface Audit {
  changed(change: ChangeMade): void;
  refused(request: RequestRefused): void;
}
