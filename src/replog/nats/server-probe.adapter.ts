// Reads the INFO line that a NATS server sends before the login.
import { connect } from 'node:net';
import { deadline } from '#ports/deadline.ts';
import { type NatsAddress, showAddress } from './nats-servers.ts';
import type { ServerVersion } from './server-rules.ts';

const probeTimeoutMs = 1_000;
const infoLengthMax = 32_768;

export interface ServerInfo extends ServerVersion {
  /** JetStream is on. A server turns it off when it finds its disk full, until it is started again. */
  readonly stores: boolean;
}

/** Null when the server cannot be reached or sends no INFO line within a second. */
export function probe(address: NatsAddress): Promise<ServerInfo | null> {
  const { promise, resolve } = Promise.withResolvers<ServerInfo | null>();
  const socket = connect(address);
  let text = '';
  deadline({ of: socket, limitMs: probeTimeoutMs }, () => socket.destroy());
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    text += chunk;
    if (!text.includes('\n') && text.length < infoLengthMax) return;
    resolve(infoIn(text, showAddress(address)));
    socket.destroy();
  });
  socket.on('error', () => {}); // then it closes
  socket.on('close', () => resolve(null));
  return promise;
}

function infoIn(text: string, address: string): ServerInfo | null {
  const line = /^INFO (\{.*\})/.exec(text)?.[1];
  if (line === undefined) return null;
  try {
    const { version, cluster, jetstream } = JSON.parse(line) as Record<string, unknown>;
    const name = typeof cluster === 'string' && cluster !== '' ? cluster : undefined;
    return { address, version: String(version), cluster: name, stores: jetstream === true };
  } catch {
    return null;
  }
}
