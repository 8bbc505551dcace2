// Finds the option of the port that made the start of a service fail.
import type { NodeOptions, PortOption } from './node-options.ts';

export const queryPortOf = (options: NodeOptions, { message }: Error): PortOption =>
  message.includes(`:${options['query-tls-port']}`) ? 'query-tls-port' : 'query-port';

export function dataPortOf(options: NodeOptions, error: Error & { port?: number }): PortOption {
  const { 'kv-tls-port': tlsPort, 'replication-port': replicationPort } = options;
  if (error.message.includes(`:${replicationPort}`)) return 'replication-port';
  return error.port === tlsPort || error.message.includes(`:${tlsPort}`) ? 'kv-tls-port' : 'kv-port';
}
