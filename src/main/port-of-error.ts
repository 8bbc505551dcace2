// Finds the option of the port that made the start of a service fail.
import type { NodeOptions, PortOption } from './node-options.ts';

export const queryPortOf = (options: NodeOptions, { message }: Error): PortOption =>
  namesPort(message, options['query-tls-port']) ? 'query-tls-port' : 'query-port';

export function dataPortOf(options: NodeOptions, { message, port }: Error & { port?: number }): PortOption {
  const { 'kv-tls-port': tlsPort, 'replication-port': replicationPort } = options;
  if (namesPort(message, replicationPort)) return 'replication-port';
  return port === tlsPort || namesPort(message, tlsPort) ? 'kv-tls-port' : 'kv-port';
}

/** Whether the message ends an address with this port, not with one whose first digits are the same. */
const namesPort = (message: string, port: number): boolean => new RegExp(`:${port}(?!\\d)`).test(message);
