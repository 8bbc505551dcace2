// References to other clusters. A reference is stored only after its cluster answered with its uuid.
import type { SecretBox } from '#auth/secret-box.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import type { ReferenceForm } from './reference-form.ts';
import {
  type CallTarget,
  type FoundCluster,
  findAuthority,
  findCluster,
  type TargetAccount,
  TargetError,
} from './target-cluster.ts';
import {
  clientKeyPurpose,
  limits,
  passwordPurpose,
  type StoredReference,
  type StoredReplication,
  type XdcrState,
} from './xdcr-state.ts';

export interface ReferencesDeps {
  readonly state: WatchedSetting<XdcrState>;
  readonly secrets: SecretBox;
  readonly callTarget: CallTarget;
  readonly encryptionLevel: () => string | null;
  /** Whether the source bucket of a replication exists. */
  readonly hasSource: (replication: StoredReplication) => boolean;
  /** Removes the checkpoints of replications to this cluster. */
  readonly deleteCheckpoints: (clusterUuid: string) => Promise<void>;
}

export class ReferencesService {
  readonly #deps: ReferencesDeps;

  constructor(deps: ReferencesDeps) {
    this.#deps = deps;
  }

  list(): readonly StoredReference[] {
    return this.#deps.state.value.references;
  }

  find(name: string): StoredReference | undefined {
    return this.list().find((reference) => reference.name === name);
  }

  /** Names of the references that `strict` encryption excludes. */
  insecure(): readonly string[] {
    return this.list().flatMap(({ name, secureType }) => (secureType === 'full' ? [] : [name]));
  }

  /** The account at the target, with the password and the key of the client certificate decrypted. */
  accountOf(reference: StoredReference): TargetAccount {
    const { hostname, username, certificate, clientCertificate } = reference;
    const password = this.#deps.secrets.open(passwordPurpose, reference.sealedPassword);
    const clientKey = this.#deps.secrets.open(clientKeyPurpose, reference.sealedClientKey);
    return { hostname, username, password, certificate, clientCertificate, clientKey };
  }

  /** With `isTrial` the reference is validated only. */
  async create(sent: ReferenceForm, isTrial: boolean): Promise<StoredReference> {
    const form = await this.#withAuthority(sent);
    const found = await this.#findCluster(form);
    const reference = this.#seal(form, found);
    const add = (state: XdcrState): XdcrState => {
      // The encryption level may have changed while the target was called.
      this.#checkEncryption(form);
      if (state.references.some(({ name }) => name === form.name)) throw xdcrRefusals.duplicateName();
      const same = state.references.find(({ uuid }) => uuid === found.uuid);
      if (same !== undefined) throw xdcrRefusals.duplicateCluster({ name: same.name });
      if (state.references.length >= limits.references)
        throw xdcrRefusals.tooManyReferences({ count: limits.references });
      return { ...state, references: [...state.references, reference] };
    };
    await this.#change(add, isTrial);
    return reference;
  }

  async edit(name: string, sent: ReferenceForm, isTrial: boolean): Promise<StoredReference> {
    if (this.find(name) === undefined) throw xdcrRefusals.unknownReference({ name });
    const form = await this.#withAuthority(sent);
    const found = await this.#findCluster(form);
    const reference = this.#seal(form, found);
    const replace = (state: XdcrState): XdcrState => {
      this.#checkEncryption(form);
      const replaced = state.references.find((stored) => stored.name === name);
      if (replaced === undefined) throw xdcrRefusals.unknownReference({ name });
      if (replaced.uuid !== found.uuid)
        throw xdcrRefusals.otherCluster({ found: found.uuid, known: replaced.uuid });
      if (form.name !== name && state.references.some((stored) => stored.name === form.name))
        throw xdcrRefusals.duplicateName();
      return {
        ...state,
        references: state.references.map((stored) => (stored === replaced ? reference : stored)),
      };
    };
    await this.#change(replace, isTrial);
    return reference;
  }

  async remove(name: string): Promise<void> {
    const reference = this.find(name);
    if (reference === undefined) throw xdcrRefusals.unknownReference({ name });
    await this.#change((state) => {
      const others = state.replications.filter(({ clusterUuid }) => clusterUuid !== reference.uuid);
      // Replications of deleted buckets cannot be seen or cancelled, so they do not keep the reference.
      const using = state.replications.filter(
        (replication) => !others.includes(replication) && this.#deps.hasSource(replication),
      );
      if (using.length > 0)
        throw xdcrRefusals.referenceInUse({ name, ids: using.map(({ id }) => id).join(' ') });
      const references = state.references.filter((stored) => stored.name !== name);
      return { ...state, references, replications: others };
    }, false);
    await this.#deps.deleteCheckpoints(reference.uuid);
  }

  /** Without a certificate, `half` trusts the one that the cluster shows when the reference is stored. */
  async #withAuthority(form: ReferenceForm): Promise<ReferenceForm> {
    if (form.secureType !== 'half' || form.certificate !== '') return form;
    this.#checkEncryption(form);
    const certificate = await reachable(findAuthority(this.#deps.callTarget, form.hostname));
    return { ...form, certificate };
  }

  async #findCluster(form: ReferenceForm): Promise<FoundCluster> {
    this.#checkEncryption(form);
    return await reachable(findCluster(this.#deps.callTarget, form));
  }

  #checkEncryption({ secureType }: ReferenceForm): void {
    if (secureType !== 'full' && this.#deps.encryptionLevel() === 'strict')
      throw xdcrRefusals.mustBeEncrypted();
  }

  #seal({ password, clientKey, ...form }: ReferenceForm, { uuid, nodes }: FoundCluster): StoredReference {
    const { secrets } = this.#deps;
    return {
      ...form,
      uuid,
      nodes,
      sealedPassword: secrets.seal(passwordPurpose, password),
      sealedClientKey: secrets.seal(clientKeyPurpose, clientKey),
    };
  }

  async #change(change: (state: XdcrState) => XdcrState, isTrial: boolean): Promise<void> {
    if (isTrial) change(this.#deps.state.value);
    else await this.#deps.state.change(change);
  }
}

async function reachable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof TargetError) throw xdcrRefusals.unreachable({ problem: error.message });
    throw error;
  }
}
