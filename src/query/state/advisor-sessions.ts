// Sessions of ADVISOR: each collects the statements that end while it runs. They are in the memory of this node, like the list of completed
// requests; the advice of a session is computed when a client asks for it.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Random } from '#ports/random.ts';

/** The most sessions that a node keeps, running and ended; a further one replaces the oldest ended one. */
export const sessionsMax = 16;
/** The most statements that a session collects, counting each run. */
export const statementsMax = 4_000;
/** The limit of the statements of a session and their query contexts, in characters. */
const textMax = 2 << 20;

export interface SessionOptions {
  readonly durationMs: number;
  /** Statements that took longer than this are recorded. */
  readonly responseMs: number;
  /** Only statements of this user; null: of all. */
  readonly user: string | null;
  /** The most runs of statements that the session records. */
  readonly queryCount: number;
}

export interface EndedStatement {
  readonly text: string;
  readonly queryContext: string;
  /** As in the answer of CURRENT_USERS(). */
  readonly users: readonly string[];
  readonly elapsedMs: number;
}

export interface CollectedStatement {
  readonly statement: string;
  readonly query_context?: string;
  run_count: number;
}

/** `scheduled`, as on published servers, is a session that runs. */
export type SessionState = 'scheduled' | 'completed' | 'cancelled';

export class AdvisorSession {
  readonly id: string;
  readonly name: string;
  readonly options: SessionOptions;
  readonly submittedMs: number;
  state: SessionState = 'scheduled';
  endedMs = 0;
  private readonly collected = new Map<string, CollectedStatement>();
  private runs = 0;
  private textLength = 0;
  private readonly timer: Timer;
  private readonly clock: Clock;

  constructor(clock: Clock, random: Random, options: SessionOptions) {
    this.clock = clock;
    this.id = random.uuid();
    this.name = random.uuid();
    this.options = options;
    this.submittedMs = clock.wallMs();
    this.timer = clock.after(options.durationMs, () => this.end('completed'));
  }

  get isRunning(): boolean {
    return this.state === 'scheduled';
  }

  /** Whether it takes further statements. */
  get isCollecting(): boolean {
    return this.isRunning && this.runs < this.options.queryCount;
  }

  statements(): readonly CollectedStatement[] {
    return [...this.collected.values()];
  }

  add({ text, queryContext, users, elapsedMs }: EndedStatement): void {
    const { responseMs, user } = this.options;
    if (!this.isCollecting || elapsedMs <= responseMs) return;
    if (user !== null && !users.some((each) => isUser(each, user))) return;
    const key = `${queryContext}\0${text}`;
    const before = this.collected.get(key);
    if (before === undefined && this.textLength + key.length > textMax) return;
    this.runs++;
    if (before !== undefined) {
      before.run_count++;
      return;
    }
    this.textLength += key.length;
    const within = queryContext === '' ? {} : { query_context: queryContext };
    this.collected.set(key, { statement: text, run_count: 1, ...within });
  }

  end(state: SessionState): void {
    if (!this.isRunning) return;
    this.timer.cancel();
    this.state = state;
    this.endedMs = this.clock.wallMs();
  }
}

export class AdvisorSessions {
  private readonly clock: Clock;
  private readonly random: Random;
  /** By their names, oldest first. */
  private readonly sessions = new Map<string, AdvisorSession>();

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  /** null: too many sessions run. */
  start(options: SessionOptions): AdvisorSession | null {
    if (this.sessions.size >= sessionsMax) {
      const ended = this.all().find(({ isRunning }) => !isRunning);
      if (ended === undefined) return null;
      this.remove(ended.name);
    }
    const session = new AdvisorSession(this.clock, this.random, options);
    this.sessions.set(session.name, session);
    return session;
  }

  all(): AdvisorSession[] {
    return [...this.sessions.values()];
  }

  find(name: string): AdvisorSession | undefined {
    return this.sessions.get(name.toLowerCase());
  }

  remove(name: string): boolean {
    this.find(name)?.end('cancelled');
    return this.sessions.delete(name.toLowerCase());
  }

  get areCollecting(): boolean {
    for (const session of this.sessions.values()) if (session.isCollecting) return true;
    return false;
  }

  add(ended: EndedStatement): void {
    for (const session of this.sessions.values()) session.add(ended);
  }

  stop(): void {
    for (const session of this.sessions.values()) session.end('cancelled');
  }
}

/** With or without its domain: `ann`, `external:ann`. */
const isUser = (user: string, wanted: string): boolean => user === wanted || user.endsWith(`:${wanted}`);
