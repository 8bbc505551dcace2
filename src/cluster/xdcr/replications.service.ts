// Replications to buckets of other clusters: creating, changing, pausing and removing them.
import type { ClusterView } from '../config/cluster-view.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import type { ReferencesService } from './references.service.ts';
import {
  booleanOf,
  defaultReplicationSettings,
  type ReplicationSettings,
  readSettings,
} from './replication-settings.ts';
import { type CallTarget, findBucket, TargetProblem } from './target-cluster.ts';
import { limits, type StoredReference, type StoredReplication, type XdcrState } from './xdcr-state.ts';

export interface ReplicationsDeps {
  readonly state: WatchedSetting<XdcrState>;
  readonly view: ClusterView;
  readonly references: ReferencesService;
  /** Whether the source bucket of a replication exists. */
  readonly hasSource: (replication: StoredReplication) => boolean;
  readonly callTarget: CallTarget;
}

type Form = Readonly<Record<string, string>>;

interface Named {
  readonly fromBucket: string;
  readonly toCluster: string;
  readonly toBucket: string;
  readonly network: string;
}

export class ReplicationsService {
  readonly #deps: ReplicationsDeps;

  constructor(deps: ReplicationsDeps) {
    this.#deps = deps;
  }

  /** Those whose source bucket exists. */
  list(): readonly StoredReplication[] {
    return this.#deps.state.value.replications.filter(this.#deps.hasSource);
  }

  find(id: string): StoredReplication | undefined {
    return this.list().find((one) => one.id === id);
  }

  defaults(): ReplicationSettings {
    return { ...defaultReplicationSettings, ...this.#deps.state.value.defaults };
  }

  /** `allow` is called when the parameters are right, and throws if the caller may not replicate the bucket. */
  async create(form: Form, isTrial: boolean, allow: (bucket: string) => void): Promise<string> {
    const { changes, problems } = readSettings(form);
    const named = readNames(form, problems);
    const source = this.#deps.view.liveBucket(named.fromBucket);
    if (source === undefined)
      throw invalid({
        fromBucket: `Error validating source bucket '${named.fromBucket}'. err=Bucket doesn't exist`,
      });
    if (source.type === 'cache') throw invalid({ fromBucket: `Incompatible source bucket '${source.name}'` });
    allow(source.name);
    const reference = this.#deps.references.find(named.toCluster);
    if (reference === undefined)
      throw invalid({
        toCluster: `cannot find remote cluster\n err = unknown remote cluster : refName - ${named.toCluster}`,
      });
    checkNetwork(named.network, reference);
    await this.#checkTarget(reference, named.toBucket, source.conflictResolutionType);
    if (reference.uuid === this.#deps.view.cluster.uuid && named.toBucket === source.name)
      throw xdcrRefusals.sameBucket();
    const id = `${reference.uuid}/${source.name}/${named.toBucket}`;
    const isPaused = booleanOf(form['pauseRequested'] ?? 'false') ?? false;
    await this.#change((state) => {
      const others = state.replications.filter(this.#deps.hasSource);
      if (others.some((one) => one.id === id)) throw xdcrRefusals.exists();
      if (others.length >= limits.replications) throw xdcrRefusals.tooMany({ count: limits.replications });
      const replication: StoredReplication = {
        id,
        clusterUuid: reference.uuid,
        fromBucket: source.name,
        fromBucketUuid: source.uuid,
        toBucket: named.toBucket,
        settings: { ...defaultReplicationSettings, ...state.defaults, ...changes },
        pauseRequested: isPaused,
      };
      return { ...state, replications: [...others, replication] };
    }, isTrial);
    return id;
  }

  async remove(id: string): Promise<void> {
    await this.#change((state) => {
      if (!state.replications.some((one) => one.id === id)) throw xdcrRefusals.unknownReplication();
      return { ...state, replications: state.replications.filter((one) => one.id !== id) };
    }, false);
  }

  async change(id: string, form: Form, isTrial: boolean): Promise<StoredReplication> {
    const { changes, problems } = readSettings(form);
    const pause = form['pauseRequested'];
    const isPaused = pause === undefined ? undefined : booleanOf(pause);
    const wrong = {
      ...problems,
      ...(pause !== undefined && isPaused === undefined && { pauseRequested: 'The value must be a boolean' }),
    };
    if (Object.keys(wrong).length > 0) throw xdcrRefusals.invalidBare(wrong);
    const state = await this.#change((before) => {
      if (!before.replications.some((one) => one.id === id)) throw xdcrRefusals.unknownReplication();
      const changed = (one: StoredReplication): StoredReplication => ({
        ...one,
        settings: { ...one.settings, ...changes },
        pauseRequested: isPaused ?? one.pauseRequested,
      });
      return {
        ...before,
        replications: before.replications.map((one) => (one.id === id ? changed(one) : one)),
      };
    }, isTrial);
    return state.replications.find((one) => one.id === id) as StoredReplication;
  }

  /** Defaults of replications that are created later. */
  async changeDefaults(form: Form, isTrial: boolean): Promise<ReplicationSettings> {
    const { changes, problems } = readSettings(form);
    if (Object.keys(problems).length > 0) throw xdcrRefusals.invalidBare(problems);
    const state = await this.#change(
      (before) => ({ ...before, defaults: { ...before.defaults, ...changes } }),
      isTrial,
    );
    return { ...defaultReplicationSettings, ...state.defaults };
  }

  async #checkTarget(reference: StoredReference, bucket: string, rule: string): Promise<void> {
    const { references, callTarget } = this.#deps;
    const [hostname = reference.hostname] = reference.nodes;
    const account = { ...reference, hostname, password: references.passwordOf(reference) };
    const found = await findBucket(callTarget, account, bucket).catch((error: Error) => {
      throw error instanceof TargetProblem ? invalid({ toBucket: error.message }) : error;
    });
    if (found === null)
      throw invalid({ toBucket: `Error validating target bucket '${bucket}'. err=Bucket doesn't exist` });
    if (['memcached', 'cache'].includes(found.type))
      throw invalid({ toBucket: `Incompatible target bucket '${bucket}'` });
    if (found.vbuckets !== vbucketCount)
      throw invalid({
        toBucket: `The number of vbuckets in source cluster, ${vbucketCount}, and target cluster, ${found.vbuckets}, does not match. This configuration is not supported.`,
      });
    if (found.conflictResolution !== rule) throw xdcrRefusals.otherResolution();
  }

  async #change(change: (state: XdcrState) => XdcrState, isTrial: boolean): Promise<XdcrState> {
    const { state } = this.#deps;
    return isTrial ? change(state.value) : await state.change(change);
  }
}

const vbucketCount = 1024;
const invalid = (fields: Readonly<Record<string, string>>) => xdcrRefusals.invalidFields(fields);

function checkNetwork(sent: string, { name, isExternal }: StoredReference): void {
  const network = isExternal ? 'external' : 'default';
  if (sent !== '' && sent !== network)
    throw invalid({
      network_type: `Remote cluster ${name} is reached by the network ${network}; change it there`,
    });
}

/** @throws AppError with all wrong fields, those of settings included */
function readNames(form: Form, problems: Readonly<Record<string, string>>): Named {
  const { fromBucket = '', toCluster = '', toBucket = '', replicationType = '', pauseRequested } = form;
  const network = form['network_type'] ?? '';
  const wrong: Record<string, string> = { ...problems };
  if (replicationType === '') wrong['replicationType'] = 'replication type cannot be empty';
  else if (replicationType !== 'continuous') wrong['replicationType'] = 'replicationType is invalid';
  if (fromBucket === '') wrong['fromBucket'] = 'source bucket cannot be empty';
  if (toCluster === '') wrong['toCluster'] = 'target cluster cannot be empty';
  if (toBucket === '') wrong['toBucket'] = 'target bucket cannot be empty';
  if (pauseRequested !== undefined && booleanOf(pauseRequested) === undefined)
    wrong['pauseRequested'] = 'The value must be a boolean';
  if (Object.keys(wrong).length > 0) throw invalid(wrong);
  return { fromBucket, toCluster, toBucket, network };
}
