// Calls of the REST API of another cluster: whether it can be reached with a reference, which cluster it is, and what its buckets are.

import { X509Certificate } from 'node:crypto';
import { hostAndPortOf, urlHost } from '#base/host-and-port.ts';
import { reachedHost } from '#base/host-placeholder.ts';
import { demandsCertificate } from '#client/connection-problem.ts';
import { vbucketCount } from '#client/document-key.ts';
import type { RestReply, RestTarget } from '#client/rest.adapter.ts';

export type CallTarget = (
  target: RestTarget,
  method: string,
  path: string,
) => Promise<Pick<RestReply, 'status' | 'body'>>;

export interface TargetAccount {
  readonly hostname: string;
  readonly username: string;
  readonly password: string;
  /** PEM; empty: no encryption. */
  readonly certificate: string;
  /** PEM; empty: username and password log in. */
  readonly clientCertificate: string;
  readonly clientKey: string;
}

export interface FoundCluster {
  readonly uuid: string;
  /** `host:port` of the REST ports of its nodes, with TLS if the reference demands it; the one that answered is the first. */
  readonly nodes: readonly string[];
}

export interface FoundBucket {
  readonly uuid: string;
  readonly type: string;
  readonly conflictResolution: string;
  readonly vbuckets: number;
}

/** Why the target cannot be used, in the published words. */
export class TargetError extends Error {
  override readonly name = 'TargetError';
  /** The target answered, and refused the account. */
  readonly isLoginRefused: boolean;

  constructor(message: string, isLoginRefused = false) {
    super(message);
    this.isLoginRefused = isLoginRefused;
  }
}

const timeoutMs = 10_000;
const answerBytesMax = 8 << 20;

/** @throws TargetError */
export async function findCluster(call: CallTarget, account: TargetAccount): Promise<FoundCluster> {
  const hostname = account.certificate === '' ? account.hostname : await tlsAddress(call, account);
  const checkedAccount = { ...account, hostname };
  const pools = await read<{ uuid?: unknown; pools?: readonly unknown[] }>(call, checkedAccount, '/pools');
  if (pools.pools?.length === 0) throw new TargetError('Remote node is not initialized.');
  const { uuid } = pools;
  if (typeof uuid !== 'string' || !/^[0-9a-fA-F-]{1,64}$/.test(uuid))
    throw new TargetError('Could not get uuid of remote cluster. Remote cluster may be invalid.');
  const { nodesExt = [] } = await read<{ nodesExt?: readonly ExtendedNode[] }>(
    call,
    checkedAccount,
    '/pools/default/nodeServices',
  );
  return { uuid, nodes: nodeAddresses(nodesExt, hostname, account.certificate !== '') };
}

/** The certificate of the cluster's certificate authority, as PEM. It is public, and requested without encryption. @throws TargetError */
export async function findAuthority(call: CallTarget, hostname: string): Promise<string> {
  const { host, port } = hostAndPortOf(hostname);
  const target = { host, port, timeoutMs, answerBytesMax };
  const answer = await call(target, 'GET', '/pools/default/certificate').catch((error) => {
    throw problemOf(error, host, port);
  });
  if (answer.status === 200 && isCertificate(answer.body)) return answer.body;
  throw new TargetError(
    `The cluster at ${hostname} does not show the certificate of its authority; send it as certificate`,
  );
}

function isCertificate(text: string): boolean {
  try {
    new X509Certificate(text);
    return true;
  } catch {
    return false;
  }
}

/** Null: there is no such bucket. @throws TargetError */
export async function findBucket(
  call: CallTarget,
  account: TargetAccount,
  bucket: string,
): Promise<FoundBucket | null> {
  const path = `/pools/default/buckets/${encodeURIComponent(bucket)}`;
  const found = await read<BucketRecord | null>(call, account, path, true);
  if (found === null) return null;
  return {
    uuid: found.uuid,
    type: found.bucketType,
    conflictResolution: found.conflictResolutionType ?? 'seqno',
    vbuckets: found.vBucketServerMap?.vBucketMap.length || (found.numVBuckets ?? vbucketCount),
  };
}

interface ExtendedNode {
  readonly hostname?: string;
  readonly services: { readonly mgmt?: number; readonly mgmtSSL?: number };
}

interface BucketRecord {
  readonly uuid: string;
  readonly bucketType: string;
  readonly conflictResolutionType?: string;
  readonly numVBuckets?: number;
  readonly vBucketServerMap?: { readonly vBucketMap: readonly unknown[] };
}

function nodeAddresses(nodes: readonly ExtendedNode[], answering: string, hasTls: boolean): string[] {
  const found = nodes.flatMap(({ hostname, services }) => {
    const port = hasTls ? services.mgmtSSL : services.mgmt;
    const host = reachedHost(hostname, hostAndPortOf(answering).host);
    return port === undefined ? [] : [`${urlHost(host)}:${port}`];
  });
  return [...new Set([answering, ...found])];
}

/** The address of the TLS port: the address of the account if that port has TLS, else the TLS port that the unencrypted port names. */
async function tlsAddress(call: CallTarget, account: TargetAccount): Promise<string> {
  const { host, port } = hostAndPortOf(account.hostname);
  const target = { host, port, ...tlsOf(account), timeoutMs };
  try {
    await call(target, 'GET', '/nodes/self/xdcrSSLPorts');
    return account.hostname;
  } catch (error) {
    if (!noTlsCodes.includes(codeOf(error))) throw problemOf(error, host, port);
  }
  const plain = await call({ host, port, timeoutMs }, 'GET', '/nodes/self/xdcrSSLPorts').catch((error) => {
    throw problemOf(error, host, port);
  });
  const secure = (parseJson(plain.body) as { httpsMgmt?: unknown } | null)?.httpsMgmt;
  if (typeof secure !== 'number')
    throw new TargetError('Could not get ssl ports. Remote cluster may not support encryption.');
  return `${account.hostname.slice(0, account.hostname.lastIndexOf(':'))}:${secure}`;
}

async function read<T>(
  call: CallTarget,
  account: TargetAccount,
  path: string,
  mayBeMissing = false,
): Promise<T> {
  const { host, port } = hostAndPortOf(account.hostname);
  const { username, password, clientCertificate } = account;
  const login = clientCertificate === '' ? { username, password } : {};
  const target = { host, port, ...login, ...tlsOf(account), timeoutMs, answerBytesMax };
  const answer = await call(target, 'GET', path).catch((error) => {
    throw problemOf(error, host, port);
  });
  if (mayBeMissing && answer.status === 404) return null as T;
  if (answer.status === 401 || answer.status === 403)
    throw new TargetError(
      `Authentication failed. Verify username and password. Got HTTP status ${answer.status} from REST call get to ${account.hostname}${path}. Body was: []`,
      true,
    );
  const value = answer.status === 200 ? parseJson(answer.body) : null;
  if (value === null)
    throw new TargetError('Could not get cluster info from remote cluster. Remote cluster may be invalid.');
  return value as T;
}

const tlsOf = ({ certificate, clientCertificate, clientKey }: TargetAccount) => ({
  ...(certificate !== '' && { authority: certificate }),
  ...(clientCertificate !== '' && { clientCertificate: { certificate: clientCertificate, key: clientKey } }),
});

/** Null: the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

const noTlsCodes = ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO'];
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

function problemOf(error: unknown, host: string, port: number): TargetError {
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new TargetError(
      `Failed to resolve address for "${host}". The hostname may be incorrect or not resolvable.`,
    );
  if (demandsCertificate(error))
    return new TargetError(
      `"${host}" on port ${port} demands a client certificate: give clientCertificate and clientKey in place of username and password`,
    );
  const isCertificate = /CERT|SELF_SIGNED|UNABLE_TO/.test(code);
  if (isCertificate || noTlsCodes.includes(code))
    return new TargetError(
      `The certificate of "${host}" on port ${port} is not accepted: ${(error as Error).message}`,
    );
  // The target ended the handshake, for instance because it does not accept the client certificate.
  if (code.startsWith('ERR_SSL_'))
    return new TargetError(
      `"${host}" on port ${port} refuses the TLS connection: ${(error as Error).message}`,
    );
  return new TargetError(
    `Could not connect to "${host}" on port ${port}. This could be due to an incorrect host/port combination or a firewall in place between the servers.`,
  );
}
