// Groups of STAT that require no bucket.
import { Feature } from '#wire/features.ts';
import type { Request } from '../dispatch/request.ts';
import type { UserEntry } from '../served/directory.ts';
import type { Client } from '../session/client.ts';
import type { Figures } from './stat-figures.ts';

/** `info`. */
export function* statInfo({ environment }: Request): Figures {
  yield ['uptime', Math.floor((environment.clock.monotonicMs() - environment.startedMs) / 1000)];
  yield ['time', Math.floor(environment.clock.wallMs() / 1000)];
  yield ['version', environment.version];
}

/** `settings`. */
export function* statSettings({ environment }: Request): Figures {
  for (const [name, value] of Object.entries(environment.limits())) yield [name, value];
}

/** `connections`: one JSON text for each connection, by the address of the client. */
export function* statConnections({ environment }: Request): Figures {
  const nowMs = environment.clock.monotonicMs();
  for (const connection of environment.connections()) {
    yield [connection.peer, JSON.stringify(describe(connection, nowMs))];
  }
}

function describe(connection: Client, nowMs: number) {
  const { session } = connection;
  return {
    peername: connection.peer,
    agent_name: session.agent,
    user: session.user && { name: session.user.spec.name, domain: domainOf(session.user) },
    bucket: session.bucket?.name ?? null,
    features: Object.entries(Feature)
      .filter(([, code]) => session.has(code))
      .map(([name]) => name),
    age_ms: Math.floor(nowMs - connection.openedMs),
    dcp: connection.streamer !== null,
    packets_held: connection.heldCount,
    send_queue_bytes: connection.unsentBytes,
  };
}

const readings = 1000;

/** `clocks`: the cost of reading each clock on this machine. */
export function* statClocks({ environment: { clock } }: Request): Figures {
  const overhead = (read: () => number): number => {
    const from = clock.monotonicMs();
    for (let i = 0; i < readings; i++) read();
    return Math.round(((clock.monotonicMs() - from) * 1e6) / readings);
  };
  yield ['clock_coarse_overhead_ns', overhead(() => clock.wallMs())];
  yield ['clock_fine_overhead_ns', overhead(() => clock.monotonicMs())];
}

const domainOf = ({ spec }: UserEntry): string => (spec.isExternal ? 'external' : 'local');
