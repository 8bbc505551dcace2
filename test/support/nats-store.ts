// A configuration store on NATS, as a node opens it.
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { StoreHead } from '#replog/mirror/config-link.ts';
import { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import type { SeenHead } from '#replog/mirror/saved-state.ts';
import { NatsConfigLink, type NatsLinkOptions } from '#replog/nats/nats-config-link.adapter.ts';
import { parseServers } from '#replog/nats/nats-servers.ts';

/** The newest head of the store that a node saw. A node keeps it in a file over restarts; this keeps it in memory. */
export class SeenHeadInMemory implements SeenHead {
  head: StoreHead | null = null;

  load(): StoreHead | null {
    return this.head;
  }

  save(head: StoreHead): void {
    this.head = head;
  }
}

interface OpenOptions extends Partial<Pick<NatsLinkOptions, 'bucket' | 'files' | 'mayCreate'>> {
  seen?: SeenHead;
  changeWaitMs?: number;
  mayEnd?: boolean;
  /** Called with the reason while the servers cannot be reached. */
  waiting?: (reason: string) => void;
}

export async function natsStore(url: string, options: OpenOptions = {}): Promise<MirroredConfigStore> {
  const link = new NatsConfigLink({
    servers: parseServers(url),
    files: options.files ?? {},
    bucket: options.bucket ?? 'divan',
    mayCreate: options.mayCreate ?? true,
    clock: realClock,
    random: realRandom,
  });
  const seen = options.seen ?? new SeenHeadInMemory();
  const store = new MirroredConfigStore({
    link,
    seen,
    clock: realClock,
    random: realRandom,
    log: silentLog,
    mayEnd: options.mayEnd ?? false,
    ...(options.changeWaitMs !== undefined && { changeWaitMs: options.changeWaitMs }),
  });
  try {
    await store.start(options.waiting);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}
