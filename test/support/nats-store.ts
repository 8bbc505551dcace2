// A configuration store on NATS, as a node opens it.
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { StoreHead } from '#replog/mirror/config-link.ts';
import { MirroredConfigStore, type SeenState } from '#replog/mirror/mirrored-config-store.ts';
import { NatsConfigLink, type NatsLinkOptions } from '#replog/nats/nats-config-link.adapter.ts';
import { parseServers } from '#replog/nats/nats-servers.ts';

/** What a node keeps over restarts, here in memory. */
export class KeptInMemory implements SeenState {
  head: StoreHead | null = null;

  load(): StoreHead | null {
    return this.head;
  }

  save(head: StoreHead): void {
    this.head = head;
  }
}

interface Opening extends Partial<Pick<NatsLinkOptions, 'bucket' | 'files' | 'mayCreate'>> {
  seen?: SeenState;
  patienceMs?: number;
  waiting?: (reason: string) => void;
}

export async function natsStore(url: string, opening: Opening = {}): Promise<MirroredConfigStore> {
  const link = new NatsConfigLink({
    ...{ servers: parseServers(url), files: opening.files ?? {}, bucket: opening.bucket ?? 'divan' },
    ...{ mayCreate: opening.mayCreate ?? true, clock: realClock, random: realRandom },
  });
  const seen = opening.seen ?? new KeptInMemory();
  const store = new MirroredConfigStore({
    link,
    seen,
    clock: realClock,
    random: realRandom,
    log: silentLog,
    ...(opening.patienceMs !== undefined && { patienceMs: opening.patienceMs }),
  });
  try {
    await store.start(opening.waiting);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}
