// The users and buckets of the data service, as the manager's desired state names them, in the form that commands look up.
import type { KvDesired, UserSpec } from '../admin.ts';
import type { ServedBucket } from './served-bucket.ts';
import { UserMeter } from './user-meter.ts';

export interface UserEntry {
  readonly spec: UserSpec;
  /** Digest of the last verified password, so that further PLAIN logins need no key derivation. */
  passwordDigest: Buffer | null;
  /** Null for a user without limits. */
  readonly meter: UserMeter | null;
}

const iterationsWithoutUsers = 4096;

export class Directory {
  readonly buckets = new Map<string, ServedBucket>();
  clusterConfig: { revEpoch: number; rev: number; json: Buffer } | null = null;
  /** Incremented when users, buckets or collections change: sessions then recompute their access. */
  revision = 1;
  /** Iterations in the SCRAM challenges for unknown users, so that these do not differ from those for real users. */
  defaultIterations = iterationsWithoutUsers;
  /** The manager may know users who are not among these. */
  admitsUnknown = false;
  /** Features that clients cannot negotiate. */
  withheldFeatures: readonly number[] = [];
  private users = new Map<string, UserEntry>();

  /** Applies the users and settings of the desired state. `accounts` are further users, which it does not name: those of other nodes. */
  follow(
    { admitsUnknownUsers, limits, users }: Pick<KvDesired, 'admitsUnknownUsers' | 'limits' | 'users'>,
    accounts: readonly UserSpec[],
  ): void {
    this.replaceUsers([...users, ...accounts]);
    this.withheldFeatures = limits?.withheldFeatures ?? [];
    this.admitsUnknown = admitsUnknownUsers ?? false;
  }

  /** Returns whether the configuration of the cluster changed. */
  followCluster(config: KvDesired['clusterConfig']): boolean {
    const before = this.clusterConfig;
    this.clusterConfig = config && { ...config, json: Buffer.from(config.json) };
    return config !== null && before?.json.toString() !== config.json;
  }

  user(name: string): UserEntry | undefined {
    return this.users.get(name);
  }

  replaceUsers(specs: readonly UserSpec[]): void {
    const users = new Map<string, UserEntry>();
    // Accounts of nodes have fewer iterations than those of users.
    let iterationsMax = 0;
    for (const spec of specs) {
      const old = this.users.get(spec.name);
      const passwordDigest = old?.spec.credentialId === spec.credentialId ? old.passwordDigest : null;
      users.set(spec.name, { spec, passwordDigest, meter: meterOf(spec, old) });
      iterationsMax = Math.max(iterationsMax, spec.scram?.sha512.iterations ?? 0);
    }
    this.defaultIterations = iterationsMax || iterationsWithoutUsers;
    this.users = users;
    this.revision++;
  }
}

/** What a user has used of this minute still counts when a limit changes. */
function meterOf({ limits }: UserSpec, old: UserEntry | undefined): UserMeter | null {
  if (limits === undefined) return null;
  const meter = old?.meter ?? new UserMeter(limits);
  meter.limits = limits;
  return meter;
}
