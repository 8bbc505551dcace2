// What commands need of the world beside their request.
import type { Kdf } from '#auth/kdf.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { Directory } from './directory.ts';

export interface Environment {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly kdf: Kdf;
  readonly directory: Directory;
  /** Version text of the VERSION command. */
  readonly version: string;
  /** Key of this process for made-up verifiers and remembered passwords. */
  readonly secret: Buffer;
  readonly startedMs: number;
}
