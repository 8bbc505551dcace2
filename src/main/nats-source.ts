// The NATS servers with a node's configuration: those that its options name, else those of the cluster that it joined.
import type { NatsSource } from '#cluster/joining/join-messages.ts';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import type { MembershipFile } from './membership-file.ts';
import { type NodeOptions, ownServers } from './node-options.ts';
import { UsageError } from './options.ts';

export type NatsOptions = Pick<
  NodeOptions,
  'engine' | 'nats-bucket' | 'nats-credentials' | 'nats-ca' | 'nats-cert' | 'nats-key'
>;

/** Returns null if the configuration is not on NATS servers. Options have precedence over what the cluster said, which may be outdated. */
export function natsSourceOf(
  options: NatsOptions,
  { natsMembership }: Pick<MembershipFile, 'natsMembership'>,
): NatsSource | null {
  if (!isNatsText(options.engine)) return natsMembership?.nats ?? null;
  const known = natsMembership?.nats.files ?? {};
  return {
    servers: options.engine,
    bucket: options['nats-bucket'],
    ...(natsMembership?.nats.own && { own: true }),
    files: {
      credentials: options['nats-credentials'] ?? known.credentials,
      ca: options['nats-ca'] ?? known.ca,
      cert: options['nats-cert'] ?? known.cert,
      key: options['nats-key'] ?? known.key,
    },
  };
}

/** Throws UsageError for options that would be without effect, or lack another. */
export function checkNatsOptions(options: NodeOptions): void {
  const files = ['nats-credentials', 'nats-ca', 'nats-cert', 'nats-key'] as const;
  const given = files.find((name) => options[name] !== undefined);
  if (given !== undefined && !isNatsText(options.engine))
    throw new UsageError(`--${given} needs --engine nats://HOST:PORT`);
  if ((options['nats-cert'] === undefined) !== (options['nats-key'] === undefined))
    throw new UsageError('--nats-cert and --nats-key are given together or not at all');
  if (options['nats-server'] !== undefined && options.engine !== ownServers)
    throw new UsageError('--nats-server needs --engine nats');
}
