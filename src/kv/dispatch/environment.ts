// What commands need of the world beside their request.
import type { Kdf } from '#auth/kdf.ts';
import type { LoginThrottle } from '#auth/login-throttle.ts';
import type { Turns } from '#auth/turns.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { TrafficFigures } from '../activity.ts';
import type { RefusedLogin } from '../admin.ts';
import type { HeavyWork } from '../heavy/jobs.ts';
import type { Directory } from '../served/directory.ts';
import type { Client } from '../session/client.ts';

export interface Environment {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly kdf: Kdf;
  /** Holds back the answers to wrong passwords. */
  readonly throttle: LoginThrottle;
  /** Key derivations wait here, those of guessers apart. */
  readonly turns: Turns;
  readonly directory: Directory;
  /** Takes what would keep other clients waiting. */
  readonly heavy: HeavyWork;
  /** Version text of the VERSION command. */
  readonly version: string;
  /** Key of this process for made-up verifiers and remembered passwords. */
  readonly secret: Buffer;
  readonly startedMs: number;
  /** Told of each; returns at once. */
  loginRefused(login: RefusedLogin): void;
  /** Whether an external user has that password: somebody else is asked, which takes a while. */
  verifyExternal(name: string, password: string): Promise<boolean>;
  connections(): Iterable<Client>;
  /** Counted here, by whoever sees it. */
  readonly traffic: TrafficFigures;
  /** Limits that hold at present, by the names that clients know. */
  limits(): Readonly<Record<string, number>>;
}
