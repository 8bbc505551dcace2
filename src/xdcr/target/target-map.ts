// Which node of the target serves which vbucket of a bucket, and where its data port is.
import { urlHost } from '#base/host-and-port.ts';
import { reachedHost } from '#base/host-placeholder.ts';
import type { TargetAccess } from '../xdcr.contract.ts';

export interface TargetNode {
  readonly host: string;
  readonly port: number;
}

export interface TargetMap {
  readonly bucketUuid: string;
  /** `host:port` of the REST ports of its nodes. */
  readonly hosts: readonly string[];
  readonly nodes: readonly TargetNode[];
  /** By vbucket the index of its node; -1: none at the moment. */
  readonly actives: readonly number[];
}

interface ExtendedNode {
  readonly hostname?: string;
  readonly services: Ports;
  readonly alternateAddresses?: {
    readonly external?: { readonly hostname: string; readonly ports?: Ports };
  };
}

type Ports = { readonly [Name in 'kv' | 'kvSSL' | 'mgmt' | 'mgmtSSL']?: number };

/** The published short configuration of a bucket. */
export interface TerseBucket {
  readonly uuid: string;
  readonly nodesExt: readonly ExtendedNode[];
  readonly vBucketServerMap?: { readonly vBucketMap: readonly (readonly number[])[] };
}

/** `host` is that of the node which sent the configuration. */
export function targetMapOf(
  bucket: TerseBucket,
  host: string,
  access: Pick<TargetAccess, 'authority' | 'encryptsData' | 'usesAlternateAddresses'>,
): TargetMap {
  const rows = bucket.vBucketServerMap?.vBucketMap ?? [];
  const hasTls = access.authority !== undefined;
  return {
    bucketUuid: bucket.uuid,
    hosts: bucket.nodesExt.flatMap(({ hostname, services, alternateAddresses }) => {
      const external = access.usesAlternateAddresses ? alternateAddresses?.external : undefined;
      const portIn = (ports: Ports = {}) => (hasTls ? ports.mgmtSSL : ports.mgmt);
      const port = portIn(external?.ports) ?? portIn(services);
      const reached = external?.hostname ?? reachedHost(hostname, host);
      return port === undefined ? [] : [`${urlHost(reached)}:${port}`];
    }),
    nodes: bucket.nodesExt.map((node) =>
      addressOf(node, host, access.encryptsData, access.usesAlternateAddresses),
    ),
    actives: rows.map(([active = -1]) => active),
  };
}

function addressOf(
  node: ExtendedNode,
  host: string,
  hasTls: boolean,
  usesAlternateAddresses: boolean,
): TargetNode {
  const port = ({ kv = 0, kvSSL = 0 }: Ports) => (hasTls ? kvSSL : kv);
  const own = { host: reachedHost(node.hostname, host), port: port(node.services) };
  const external = usesAlternateAddresses ? node.alternateAddresses?.external : undefined;
  if (external === undefined) return own;
  return { host: external.hostname, port: external.ports === undefined ? own.port : port(external.ports) };
}
