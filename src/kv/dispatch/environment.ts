// Services and node-wide state that commands use.

import type { HashingQueue } from '#auth/hashing-queue.ts';
import type { Kdf } from '#auth/kdf.ts';
import type { LoginThrottle } from '#auth/login-throttle.ts';
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
  /** Delays replies to wrong passwords. */
  readonly throttle: LoginThrottle;
  /** Runs key derivations, those of suspicious addresses at low priority. */
  readonly hashingQueue: HashingQueue;
  readonly directory: Directory;
  /** Runs work that would block the data thread. */
  readonly heavy: HeavyWork;
  /** Version text of the VERSION command. */
  readonly version: string;
  /** HMAC key for verifiers of unknown users and for digests of verified passwords. */
  readonly secret: Buffer;
  /** When the data service started, by `clock.monotonicMs`. */
  readonly startedMs: number;
  /** Called for each refused login; must return at once. */
  loginRefused(login: RefusedLogin): void;
  /** Verifies the password of an external user at the directory server, which may take seconds. */
  verifyExternal(name: string, password: string): Promise<boolean>;
  connections(): Iterable<Client>;
  /** Mutable counters, incremented where the events occur. */
  readonly traffic: TrafficFigures;
  /** The current limits by their published names. */
  limits(): Readonly<Record<string, number>>;
}
