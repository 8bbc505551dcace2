// The addresses of the data ports of a bucket's nodes, from the configuration that clients read at `/pools/default/b/<bucket>`.
import { urlHost } from '#base/host-and-port.ts';
import { hostPlaceholder } from '#base/host-placeholder.ts';
import type { ServerTls } from './wire-address.ts';

export interface BucketConfig {
  readonly vBucketServerMap?: {
    readonly serverList: readonly string[];
    readonly vBucketMap: readonly (readonly number[])[];
  };
  readonly nodesExt?: readonly {
    readonly hostname?: string;
    readonly services: Readonly<Record<string, number>>;
  }[];
}

/** `host:port` in the order of the map; `$HOST` is the node that sent the configuration. Undefined: the node has no such port. */
export function dataAddresses(config: BucketConfig, hasTls: boolean): readonly (string | undefined)[] {
  const plain = config.vBucketServerMap?.serverList ?? [];
  if (!hasTls) return plain;
  return plain.map((_, index) => {
    const { hostname = hostPlaceholder, services } = config.nodesExt?.[index] ?? { services: {} };
    const port = services['kvSSL'];
    return port === undefined ? undefined : `${urlHost(hostname)}:${port}`;
  });
}

/**
 * The TLS options of the data ports. `authority`: the PEM of the authority that issued the REST port's certificate; null: any authority
 * that the machine trusts; undefined: no TLS.
 */
export const serverTls = (authority: string | null | undefined): ServerTls | undefined =>
  authority === undefined ? undefined : authority === null ? {} : { authority };
