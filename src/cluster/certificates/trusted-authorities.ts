// The authorities that the cluster trusts: generated ones, and those that an operator provides.
import type { X509Certificate } from 'node:crypto';
import { assert } from '#base/assert.ts';
import type { Clock } from '#ports/clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { loopbackOf } from '../config/node-network.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';
import { type ParsedText, pemOf, readAuthorities } from './certificate-text.ts';
import type { CertificatesStore } from './certificates.store.ts';
import { type CertificatesState, type StoredAuthority, withAuthority } from './certificates-state.ts';
import type { Inbox, InboxFile } from './inbox.ts';

const authoritiesMax = 100;

export interface TrustedAuthoritiesDeps {
  view: ClusterView;
  store: CertificatesStore;
  inbox: Inbox;
  clock: Clock;
}

interface Found {
  pem: string;
  file: string;
}

export class TrustedAuthorities {
  readonly #deps: TrustedAuthoritiesDeps;

  constructor(deps: TrustedAuthoritiesDeps) {
    this.#deps = deps;
  }

  /** Adds the certificate of a text, which must be the only one, as the cluster's root. */
  async upload(text: string): Promise<StoredAuthority> {
    const pem = oneAuthority(readAuthorities(text, this.#deps.clock.wallMs()));
    const { authorities } = await this.#deps.store.change((state) => {
      if (contains(state, pem)) throw certificateRefusals.known();
      return this.#with(state, { origin: 'upload', pem });
    });
    const uploaded = authorities.findLast((authority) => authority.pem === pem);
    assert(uploaded, 'the authority was just added');
    return uploaded;
  }

  /** Loads all of the inbox, or nothing; resolves with the new authorities. */
  async load(): Promise<StoredAuthority[]> {
    const { inbox, store, view, clock } = this.#deps;
    const { folder, files } = await inbox.authorities();
    if (files.length === 0) throw certificateRefusals.emptyFolder({ folder });
    const found = files.flatMap((file) => authoritiesOf(file, clock.wallMs()));
    let ids = new Set<number>();
    const { authorities } = await store.change((before) => {
      ids = new Set(before.authorities.map(({ id }) => id));
      return found.reduce((state, { pem, file }) => {
        if (contains(state, pem)) return state;
        return this.#with(state, { origin: 'inbox', pem, file, host: hostOf(view.self) });
      }, before);
    });
    return authorities.filter(({ id }) => !ids.has(id));
  }

  async remove(id: number): Promise<void> {
    const { store, view } = this.#deps;
    await store.change((state) => {
      if (!state.authorities.some((authority) => authority.id === id)) throw certificateRefusals.notFound();
      const nodes = view.cluster.nodes.filter(({ uuid }) => state.nodes[uuid]?.authorityId === id);
      if (nodes.length > 0) {
        const hosts = nodes.map(hostOf).join(', ');
        throw certificateRefusals.authorityInUse({ hosts });
      }
      return { ...state, authorities: state.authorities.filter((authority) => authority.id !== id) };
    });
  }

  #with(state: CertificatesState, authority: Omit<StoredAuthority, 'id' | 'loadedMs' | 'key'>) {
    if (state.authorities.length >= authoritiesMax) {
      throw certificateRefusals.tooManyAuthorities({ limit: authoritiesMax });
    }
    return withAuthority(state, { ...authority, loadedMs: this.#deps.clock.wallMs(), key: null });
  }
}

function oneAuthority(read: ParsedText<X509Certificate[]>): string {
  if ('problem' in read) throw certificateRefusals.unreadableUpload({ problem: read.problem });
  if (read.value.length > 1) throw certificateRefusals.severalUploaded();
  return pemOf(read.value);
}

function authoritiesOf({ path, text, problem }: InboxFile, nowMs: number): Found[] {
  const read: ParsedText<X509Certificate[]> = text === null ? { problem } : readAuthorities(text, nowMs);
  if ('problem' in read) throw certificateRefusals.unreadableAuthority({ path, problem: read.problem });
  return read.value.map((certificate) => ({ pem: pemOf([certificate]), file: path }));
}

const hostOf = (node: NodeState): string => node.hostname ?? loopbackOf(node);

const contains = (state: CertificatesState, pem: string): boolean =>
  state.authorities.some((authority) => authority.pem.trim() === pem.trim());
