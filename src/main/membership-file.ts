// What a data folder knows about the cluster that its node joined: the founder, which stores the configuration, the cluster's key, and the
// node's certificate. The file is replaced atomically before the node's own data is removed: after a crash
// the next start either finds the old node, or completes the join.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FounderJoinParameters, NatsJoinParameters } from '#cluster/joining/join-messages.ts';
import { removeIndexFiles } from '#index/store/index-place.adapter.ts';
import { writePrivate } from '#ports/private-file.ts';
import type { StoreHead } from '#replog/mirror/config-link.ts';
import { StartError } from './start-error.ts';

const fileName = 'member.json';
/** Which store on NATS servers the node uses. */
export const natsFile = 'nats.json';
/** The folder of the NATS server that the node runs itself. */
export const serverFolder = 'nats';
/** The folder of the index files. It may be a link. */
export const indexFolder = 'index';
const moveName = 'engine-move.json';
const returnName = 'engine-return.db';
const seenName = 'store-seen.json';
const configurationName = 'config.db';
const copyName = 'config-copy.db';
const nextCopyName = `${copyName}.next`;

/** `leaving`: the node still has to remove its own data. */
export type StoredMembership = FounderMembership | NatsMembership | { readonly state: 'leaving' };

/** Membership in a cluster with a founder. */
export interface FounderMembership extends FounderJoinParameters {
  /**
   * `joining`: the node still has to remove its own data. `founder`: it took the configuration over, which is in its folder, encrypted under
   * the cluster's key.
   */
  readonly state: 'joining' | 'member' | 'founder';
  /** The epoch in which `founder` stores the configuration, as far as this node knows. */
  readonly epoch?: number;
}

/** Membership in a cluster on NATS servers. The node that the cluster began with has no membership file. */
export interface NatsMembership extends NatsJoinParameters {
  readonly state: 'joining' | 'member';
}

/** The files and folders that are deleted, in addition to index files, when a node joins or leaves: documents, samples, events, certificates and more. */
const removedNames = [
  'buckets',
  'metrics',
  'events',
  'certificates',
  serverFolder,
  moveName,
  'administrator.sealed',
  'first-start.pending',
  seenName,
  natsFile,
];

export class MembershipFile {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  static isMember(folder: string): boolean {
    return existsSync(join(folder, fileName));
  }

  /** Whether the node stores its configuration itself. */
  get isFounder(): boolean {
    const membership = this.read();
    return membership === null || membership.state === 'founder';
  }

  /** A recorded join or removal is not complete. */
  get isChanging(): boolean {
    const state = this.read()?.state;
    return state === 'joining' || state === 'leaving';
  }

  /** Renames the configuration of a node that is no longer the founder, so that its operator still has it. */
  setOwnStoreAside(): void {
    for (const suffix of ['', '-wal', '-shm', '-commits']) {
      const path = join(this.#folder, configurationName + suffix);
      if (existsSync(path)) renameSync(path, join(this.#folder, `${configurationName}.yielded${suffix}`));
    }
  }

  /** The membership in a cluster with a founder; null: there is none. */
  get founderMembership(): FounderMembership | null {
    const membership = this.read();
    return membership !== null && 'founder' in membership ? membership : null;
  }

  /** The membership in a cluster on NATS servers; null: there is none. */
  get natsMembership(): NatsMembership | null {
    const membership = this.read();
    return membership !== null && 'nats' in membership ? membership : null;
  }

  /** The key that encrypts the secrets of the cluster that this node joined; null: the key of the data folder does. */
  get clusterKey(): Buffer | null {
    const membership = this.read();
    return membership !== null && 'clusterKey' in membership
      ? Buffer.from(membership.clusterKey, 'base64')
      : null;
  }

  /** Null: this node never was a member. Throws StartError for a damaged file. */
  read(): StoredMembership | null {
    if (!MembershipFile.isMember(this.#folder)) return null;
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8')) as StoredMembership;
    } catch (error) {
      throw new StartError(`the file ${this.#path} cannot be read: ${(error as Error).message}`);
    }
  }

  write(membership: StoredMembership): void {
    writePrivate(this.#path, `${JSON.stringify(membership)}\n`);
  }

  /** Records that this founder is a member of another founder's cluster from now on. Removes its copy of the configuration, which is older than its own store. */
  follow(parameters: FounderJoinParameters, epoch?: number): void {
    this.#remove((name) => name === seenName || name.startsWith(copyName));
    this.write({ ...parameters, ...(epoch !== undefined && { epoch }), state: 'member' });
  }

  /** Records on which NATS servers the configuration will be once the last change of the present store names them. */
  prepareMove(parameters: NatsJoinParameters): void {
    writePrivate(join(this.#folder, moveName), `${JSON.stringify(parameters)}\n`);
  }

  /** What the last `prepareMove` recorded. */
  get preparedMove(): NatsJoinParameters | null {
    const path = join(this.#folder, moveName);
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as NatsJoinParameters) : null;
  }

  /** Records that the configuration is on these servers from now on. Removes the copy and the revision that this node has of the founder's store. */
  useServers(parameters: NatsJoinParameters): void {
    this.write({ ...parameters, state: 'member' });
    this.#remove((name) => name === seenName || name === natsFile || name.startsWith(copyName));
    this.#remove((name) => name === moveName);
  }

  /**
   * Records that a founder has the configuration from now on instead of the servers. `head`: of the copy at `nextCopyPath`; null: there is no
   * copy.
   */
  leaveServers(membership: FounderMembership, head: StoreHead | null): void {
    if (head !== null) this.seenHead.save(head);
    else this.#remove((name) => name === seenName || name.startsWith(nextCopyName));
    this.write(membership);
    this.#discardServers();
  }

  /** Completes what `leaveServers` recorded, after a crash. */
  finishLeaving(): void {
    if (this.founderMembership !== null && existsSync(join(this.#folder, natsFile))) this.#discardServers();
  }

  /** Removes what this node has of the servers' store: the founder's store is another one. */
  #discardServers(): void {
    if (existsSync(this.nextCopyPath)) {
      // The count of commits moves first. Where an earlier process ended after that, the file `config-copy.db-commits` belongs to the next copy already.
      const moved = ['-commits', ''].filter((suffix) => existsSync(this.nextCopyPath + suffix));
      const isKept = (name: string): boolean =>
        name.startsWith(nextCopyName) || (name === `${copyName}-commits` && !moved.includes('-commits'));
      this.#remove((name) => name.startsWith(copyName) && !isKept(name));
      for (const suffix of moved) renameSync(this.nextCopyPath + suffix, this.copyPath + suffix);
    } else if (!existsSync(join(this.#folder, seenName))) this.#remove((name) => name.startsWith(copyName));
    this.#remove((name) => name.startsWith(returnName));
    // Removed last: while the file exists, the next start completes this removal.
    this.#remove((name) => name === natsFile);
  }

  /** The configuration with which this node begins as the founder if the last change on the servers says so. */
  get returnPath(): string {
    return join(this.#folder, returnName);
  }

  /** Path of the copy with which this node follows a founder instead of the servers. */
  get nextCopyPath(): string {
    return join(this.#folder, nextCopyName);
  }

  #remove(isRemoved: (name: string) => boolean): void {
    for (const name of readdirSync(this.#folder).filter(isRemoved)) rmSync(join(this.#folder, name));
  }

  /** Completes a recorded join or removal. */
  complete(): void {
    const membership = this.read();
    if (membership === null || !this.isChanging) return;
    const isOwn = (name: string): boolean =>
      [configurationName, copyName, returnName].some((own) => name.startsWith(own));
    const own = readdirSync(this.#folder).filter(isOwn);
    removeIndexFiles(join(this.#folder, indexFolder));
    for (const name of [...own, ...removedNames])
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    if (membership.state === 'joining') this.write({ ...membership, state: 'member' });
    else rmSync(this.#path);
  }

  /** The newest state of the configuration that this node has seen. */
  readonly seenHead = {
    load: (): StoreHead | null => {
      const path = join(this.#folder, seenName);
      if (!existsSync(path)) return null;
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as StoreHead;
      } catch (error) {
        throw new StartError(`the file ${path} cannot be read: ${(error as Error).message}`);
      }
    },
    save: (head: StoreHead): void => writePrivate(join(this.#folder, seenName), `${JSON.stringify(head)}\n`),
  };

  /** Where this node keeps a copy of the whole configuration. */
  get copyPath(): string {
    return join(this.#folder, copyName);
  }

  get #path(): string {
    return join(this.#folder, fileName);
  }
}
