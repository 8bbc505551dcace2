// Writes the audit log: which events, of which users, in the published form of a line.
import type { Identity } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import type { AuditEvent } from './audit-events.ts';
import type { AuditFile } from './audit-file.ts';
import type { AuditSettings } from './audit-settings.ts';

export interface AuditLogDeps {
  settings: Pick<WatchedSetting<AuditSettings>, 'value'>;
  file: AuditFile;
  /** The default folder. */
  folder: string;
  clock: Clock;
  random: Random;
  log: Log;
  /** Called if an event could not be written. */
  failed: () => void;
}

/** Who caused an event, from where, and its details. */
export interface AuditedCause {
  user: Pick<Identity, 'name'> & { readonly domain: string };
  /** The user on whose behalf the request was made, if another. */
  effective?: Identity;
  /** Address of the client; null for actions of the node itself. */
  from: string | null;
  details?: Readonly<Record<string, unknown>>;
}

export class AuditLog {
  readonly #deps: AuditLogDeps;

  constructor(deps: AuditLogDeps) {
    this.#deps = deps;
  }

  get folder(): string {
    return this.#deps.settings.value.logPath ?? this.#deps.folder;
  }

  /** Never throws: the event has happened, even if it cannot be written. */
  record(event: AuditEvent, audited: AuditedCause): void {
    const { file, log, failed, settings } = this.#deps;
    const { auditdEnabled, disabled, disabledUsers, rotateInterval, rotateSize } = settings.value;
    const { name, domain } = audited.user;
    if (!auditdEnabled) return;
    if (event.isOptional && disabled.includes(event.id)) return;
    if (event.isOptional && disabledUsers.some((user) => user.name === name && user.domain === domain))
      return;
    try {
      const limits = { rotateSeconds: rotateInterval, rotateBytes: rotateSize };
      file.append(this.folder, JSON.stringify(this.#lineOf(event, audited)), limits);
    } catch (error) {
      log.error('audit.not_written', { event: event.id, reason: (error as Error).message });
      failed();
    }
  }

  close(): void {
    this.#deps.file.close();
  }

  #lineOf({ id, name, description }: AuditEvent, { user, effective, from, details }: AuditedCause) {
    return {
      description,
      id,
      name,
      ...details,
      real_userid: shownUser(user),
      ...(effective && { effective_userid: shownUser(effective) }),
      ...(from !== null && { remote: { ip: from } }),
      timestamp: new Date(this.#deps.clock.wallMs()).toISOString(),
      uuid: this.#deps.random.uuid(),
    };
  }
}

/** A user with the published name of its domain, which is another one for the administrator. */
const shownUser = ({ name, domain }: AuditedCause['user']) => ({
  domain: domain === 'admin' ? 'builtin' : domain,
  user: name,
});
