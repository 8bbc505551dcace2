// A connection to NATS servers. It does not reconnect: the mirrored store opens a new one, so that a request to the old connection can
// never be sent later. The client library is loaded when it is first needed: a node with the embedded store does not need it.
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { FinalError } from '../mirror/config-link.ts';
import { contents, type NatsFiles } from './nats-files.adapter.ts';
import { type NatsAddress, type NatsServers, parseAddress, showAddress } from './nats-servers.ts';
import { probe } from './server-probe.adapter.ts';
import { type ServerVersion, serversRefusal } from './server-rules.ts';

export type Nats = typeof import('@nats-io/transport-node');

export interface OpenConnection {
  readonly nats: Nats;
  readonly connection: NatsConnection;
  readonly servers: readonly ServerVersion[];
}

const connectTimeoutMs = 3_000;
const pingEveryMs = 5_000;
/** Unanswered pings after which the connection is lost. */
const pingsMax = 2;

/** @throws FinalError where trying again will not help. */
export async function openConnection(
  configured: NatsServers,
  files: NatsFiles,
  discovered: readonly NatsAddress[],
): Promise<OpenConnection> {
  const nats = await import('@nats-io/transport-node');
  const connection = await connect(nats, configured, files, discovered);
  try {
    const servers = await serversOf(connection);
    const refusal = serversRefusal(servers);
    if (refusal !== null) throw new FinalError(refusal);
    return { nats, connection, servers };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function connect(
  nats: Nats,
  configured: NatsServers,
  files: NatsFiles,
  discovered: readonly NatsAddress[],
): Promise<NatsConnection> {
  const options = optionsOf(nats, configured, files, discovered);
  try {
    return await nats.connect(options);
  } catch (error) {
    throw isFinal(error as Error) ? new FinalError(reasonOf(error as Error), { cause: error }) : error;
  }
}

function optionsOf(
  nats: Nats,
  configured: NatsServers,
  files: NatsFiles,
  discovered: readonly NatsAddress[],
): ConnectionOptions {
  const addresses = [...new Set([...configured.addresses, ...discovered].map(showAddress))];
  return {
    servers: addresses,
    name: 'divan',
    reconnect: false,
    timeout: connectTimeoutMs,
    pingInterval: pingEveryMs,
    maxPingOut: pingsMax,
    ...(configured.user !== undefined && { user: configured.user, pass: configured.password ?? '' }),
    ...(configured.token !== undefined && { token: configured.token }),
    ...(files.credentials !== undefined && {
      authenticator: nats.credsAuthenticator(contents(files.credentials)),
    }),
    ...tlsOf(configured, files),
  };
}

function tlsOf(configured: NatsServers, { ca, cert, key }: NatsFiles): Pick<ConnectionOptions, 'tls'> {
  if (!configured.tls && ca === undefined && cert === undefined) return {};
  return {
    tls: {
      ...(ca !== undefined && { ca: contents(ca).toString() }),
      ...(cert !== undefined && { cert: contents(cert).toString() }),
      ...(key !== undefined && { key: contents(key).toString() }),
    },
  };
}

/** The server and those of its cluster that can be reached now; the others are checked when a connection to them opens. */
async function serversOf({ info }: NatsConnection): Promise<ServerVersion[]> {
  if (info === undefined) throw new Error('the NATS server sent no INFO message');
  const server = { address: `${info.host}:${info.port}`, version: info.version };
  if (!info.jetstream)
    throw new FinalError(`the NATS server at ${server.address} runs without JetStream; start it with -js`);
  const cluster = (info as { cluster?: string }).cluster;
  const others = (info.connect_urls ?? []).map(parseAddress).filter((address) => address !== null);
  const found = cluster === undefined ? [] : await Promise.all(others.map(probe));
  return [{ ...server, cluster }, ...found.filter((server) => server !== null)];
}

const isFinal = (error: Error): boolean =>
  error.name === 'AuthorizationError' ||
  (/authorization|certificate|self.signed|\bssl\b|tls/i.test(messagesOf(error)) &&
    // A server that shuts down fails a connection in this way.
    !/disconnected before secure/.test(messagesOf(error)));

function messagesOf(error: Error): string {
  const { cause } = error;
  return cause instanceof Error ? `${error.message} ${messagesOf(cause)}` : error.message;
}

function reasonOf(error: Error): string {
  if (error.name === 'AuthorizationError') return 'NATS refuses the user or password of this node';
  return `no secure connection to NATS: ${messagesOf(error)}`;
}
