// Messages between the main thread and the data thread: calls of KvAdmin and their results, logins and log lines.
import type { LogMessage } from '#ports/log.ts';
import type { ExternalLogin, KvAdmin, MapRequest, RefusedLogin } from '../admin.ts';

/** What the data thread starts with: a counter with one element, which it increases before each answer to a client (`activityCount`). */
export type DataThreadInput = Int32Array<SharedArrayBuffer>;

export interface ThreadCall {
  id: number;
  method: keyof KvAdmin;
  args: unknown[];
}

export interface ThreadCallFailure {
  message: string;
  /** Code of a system error: `EADDRINUSE`. */
  code: string | undefined;
}

export type ThreadMessage =
  | { kind: 'result'; id: number; result: unknown }
  | { kind: 'failure'; id: number; failure: ThreadCallFailure }
  | { kind: 'login refused'; login: RefusedLogin }
  | { kind: 'external login'; login: ExternalLogin }
  | { kind: 'map change'; request: MapRequest }
  | LogMessage;
