// Who may connect and what is served: the wanted state in the form that commands look things up in.
import type { UserSpec } from '../admin.ts';
import type { ServedBucket } from './served-bucket.ts';

export interface UserEntry {
  readonly spec: UserSpec;
  /** Proof of the last password that was right, so that a further PLAIN login costs no key derivation. */
  passwordDigest: Buffer | null;
}

export class Directory {
  readonly buckets = new Map<string, ServedBucket>();
  clusterConfig: { revEpoch: number; rev: number; json: Buffer } | null = null;
  /** Raised whenever users, buckets or collections change: what sessions have worked out is then stale. */
  revision = 1;
  /** Iterations that a user who does not exist seems to have. */
  usualIterations = 4096;
  private users = new Map<string, UserEntry>();

  user(name: string): UserEntry | undefined {
    return this.users.get(name);
  }

  replaceUsers(specs: readonly UserSpec[]): void {
    const users = new Map<string, UserEntry>();
    for (const spec of specs) {
      const old = this.users.get(spec.name);
      const passwordDigest = old?.spec.credentialId === spec.credentialId ? old.passwordDigest : null;
      users.set(spec.name, { spec, passwordDigest });
      if (spec.scram) this.usualIterations = spec.scram.sha512.iterations;
    }
    this.users = users;
    this.revision++;
  }
}
