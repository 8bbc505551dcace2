// Which NATS servers may store a configuration. A single server may be of any version. Every server of a cluster must be
// of a version in which two conditional writes cannot both succeed.

export interface ServerVersion {
  readonly address: string;
  readonly version: string;
  /** The name of its cluster; absent for a standalone server. */
  readonly cluster?: string | undefined;
}

const clusteredMin = [2, 12] as const;

/** Why these servers are refused; null if they are not. */
export function serversRefusal(servers: readonly ServerVersion[]): string | null {
  if (!servers.some(({ cluster }) => cluster !== undefined)) return null;
  const old = servers.find(({ version }) => !isAtLeast(version, clusteredMin));
  if (old === undefined) return null;
  return (
    `the NATS server at ${old.address} is of version ${old.version}; servers of a cluster must be of 2.12 or later, because earlier ` +
    'ones can accept two conflicting changes'
  );
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const match = /^v?(\d+)\.(\d+)\./.exec(`${version}.`);
  if (match === null) return false;
  const [ownMajor, ownMinor] = [Number(match[1]), Number(match[2])];
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

/** Copies of the configuration; more than half of them must store a change. */
export const replicasOf = (isClustered: boolean): number => (isClustered ? 3 : 1);
