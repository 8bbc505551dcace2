// Who a connection is, what it may do, which bucket it is on and what it asked for with HELLO.
import { type Feature, featureCodeMax } from '#wire/features.ts';
import { BucketAccess } from '../collections/access.ts';
import type { Directory, UserEntry } from '../served/directory.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { ScramExchange } from './scram.ts';

export class Session {
  /** One byte a feature code, 1 when granted. */
  readonly features = new Uint8Array(featureCodeMax);
  agent = '';
  user: UserEntry | null = null;
  bucket: ServedBucket | null = null;
  access: BucketAccess | null = null;
  exchange: ScramExchange | null = null;
  /** By its certificate: then no password says otherwise. */
  isCertified = false;
  /** Revision of the configuration that the last NOT_MY_VBUCKET carried. */
  sentConfigRevision = '';
  private revision = 0;

  has(feature: Feature): boolean {
    return this.features[feature] === 1;
  }

  grant(codes: readonly number[]): void {
    this.features.fill(0);
    for (const code of codes) this.features[code] = 1;
  }

  /** Forgets user and bucket. */
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

  certify(user: UserEntry, directory: Directory): void {
    this.authenticate(user, directory);
    this.isCertified = true;
  }

  select(bucket: ServedBucket | null): void {
    this.bucket = bucket;
    this.access = bucket && this.user ? accessTo(bucket, this.user) : null;
    this.sentConfigRevision = '';
  }

  /** Follows changes of users and collections; answers false when the user is gone or has new credentials. */
  refresh(directory: Directory): boolean {
    if (this.revision === directory.revision || !this.user) return true;
    const user = directory.user(this.user.spec.name);
    const isSame = this.isCertified || user?.spec.credentialId === this.user.spec.credentialId;
    if (!user || !isSame) return false;
    this.user = user;
    this.access = this.bucket ? accessTo(this.bucket, user) : null;
    this.revision = directory.revision;
    return true;
  }
}

export const accessTo = (bucket: ServedBucket, user: UserEntry): BucketAccess =>
  new BucketAccess(user.spec.grants, bucket.name, bucket.collections);
