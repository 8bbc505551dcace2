// Connections of a node "a" to a node "b", over links that record what "a" does.

import type { Link, LinkHandler } from '../../src/kv/replication/link.ts';
import { PeerConnections, type PeerEvents } from '../../src/kv/replication/peers.ts';
import { silentLog } from '../../src/ports/log.ts';
import { ManualClock } from './manual-clock.ts';

/** A link to node "b", whose messages the test passes to `handler`. The end of the link is not reported, as while a network drops every packet. */
export class RecordingLink implements Link {
  readonly node = 'b';
  readonly unsentBytes = 0;
  readonly sent: Buffer[] = [];
  handler: LinkHandler | null = null;
  closedFor: string | null = null;

  send(bytes: Uint8Array, sent: () => void): void {
    this.sent.push(Buffer.from(bytes));
    sent();
  }

  close(reason: string): void {
    this.closedFor ??= reason;
  }

  receive(handler: LinkHandler): void {
    this.handler = handler;
  }
}

/** Accepts links of "b", and connects to no node. */
export function aPeer(events: Partial<PeerEvents>, clock = new ManualClock()): PeerConnections {
  const ignore = (): void => {};
  const peers = new PeerConnections({
    self: { node: 'a', boot: 'a 1' },
    clock,
    log: silentLog,
    connect: () => new Promise(() => {}),
    events: {
      connected: ignore,
      disconnected: ignore,
      arrived: ignore,
      received: ignore,
      hasRoom: ignore,
      ...events,
    },
  });
  peers.follow([{ node: 'b', host: '', port: 1 }]);
  return peers;
}
