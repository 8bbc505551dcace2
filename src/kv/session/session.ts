// State of one connection: its user, the selected bucket, the access of the user to it, and the negotiated features.
import { type Feature, featureCodeMax } from '#wire/features.ts';
import { BucketAccess } from '../collections/access.ts';
import type { Directory, UserEntry } from '../served/directory.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { ScramExchange } from './scram.ts';

export class Session {
  /** Indexed by feature code: 1 if granted. */
  readonly features = new Uint8Array(featureCodeMax);
  agent = '';
  user: UserEntry | null = null;
  bucket: ServedBucket | null = null;
  access: BucketAccess | null = null;
  /** The SCRAM login that waits for the client's final message. */
  exchange: ScramExchange | null = null;
  /** Authenticated by a client certificate: a password change does not end the session. */
  isByCertificate = false;
  /** Revision of the configuration that the last NOT_MY_VBUCKET carried. */
  sentConfigRevision = '';
  /** Revision of the directory that user and access were taken from. */
  private revision = 0;

  has(feature: Feature): boolean {
    return this.features[feature] === 1;
  }

  grant(codes: readonly number[]): void {
    this.features.fill(0);
    for (const code of codes) this.features[code] = 1;
  }

  /** Resets user and bucket. */
  reset(): void {
    this.user = null;
    this.exchange = null;
    this.select(null);
  }

  authenticate(user: UserEntry, directory: Directory): void {
    this.reset();
    this.user = user;
    this.revision = directory.revision;
  }

  authenticateByCertificate(user: UserEntry, directory: Directory): void {
    this.authenticate(user, directory);
    this.isByCertificate = true;
  }

  select(bucket: ServedBucket | null): void {
    this.bucket = bucket;
    this.access = bucket && this.user ? accessTo(bucket, this.user) : null;
    this.sentConfigRevision = '';
  }

  /** Applies changes of users and collections; returns false if the user is deleted or has new credentials. */
  refresh(directory: Directory): boolean {
    if (this.revision === directory.revision || !this.user) return true;
    const user = directory.user(this.user.spec.name);
    const isSame = this.isByCertificate || user?.spec.credentialId === this.user.spec.credentialId;
    if (!user || !isSame) return false;
    this.user = user;
    this.access = this.bucket ? accessTo(this.bucket, user) : null;
    this.revision = directory.revision;
    return true;
  }
}

export const accessTo = (bucket: ServedBucket, user: UserEntry): BucketAccess =>
  new BucketAccess(user.spec.grants, bucket.name, bucket.collections);
