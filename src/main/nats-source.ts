// Where a node's configuration on NATS servers is: its options name them, else the cluster that it joined did.
import type { NatsSource } from '#cluster/joining/join-messages.ts';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import type { MembershipFile } from './membership-file.ts';
import type { NodeOptions } from './node-options.ts';

export type NatsOptions = Pick<
  NodeOptions,
  'engine' | 'nats-bucket' | 'nats-credentials' | 'nats-ca' | 'nats-cert' | 'nats-key'
>;

/** Null: it is not on NATS servers. Options replace what the cluster said, which may be outdated. */
export function natsSourceOf(
  options: NatsOptions,
  { onNats }: Pick<MembershipFile, 'onNats'>,
): NatsSource | null {
  if (!isNatsText(options.engine)) return onNats?.nats ?? null;
  const known = onNats?.nats.files ?? {};
  return {
    servers: options.engine,
    bucket: options['nats-bucket'],
    files: {
      credentials: options['nats-credentials'] ?? known.credentials,
      ca: options['nats-ca'] ?? known.ca,
      cert: options['nats-cert'] ?? known.cert,
      key: options['nats-key'] ?? known.key,
    },
  };
}
