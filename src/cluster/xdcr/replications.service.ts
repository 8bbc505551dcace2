// Replications to buckets of other clusters: creating, changing, pausing and removing them.

import { vbucketCount } from '#client/document-key.ts';
import type { Random } from '#ports/random.ts';
import { implicitMapping } from '#xdcr/mapping/mapping.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import { xdcrRefusals } from '../refusals/xdcr.refusals.ts';
import { firstEpochs, nextEpochs } from './filter-epochs.ts';
import {
  changesMapping,
  mappingNames,
  readMapping,
  type SourceCollections,
  withMapping,
} from './mapping-settings.ts';
import type { ReferencesService } from './references.service.ts';
import { missingSwitches, removalFilterProblems } from './removal-filters.ts';
import {
  booleanOf,
  defaultReplicationSettings,
  type ReplicationSettings,
  readSettings,
} from './replication-settings.ts';
import { type CallTarget, findBucket, TargetError } from './target-cluster.ts';
import { limits, type StoredReference, type StoredReplication, type XdcrState } from './xdcr-state.ts';

export interface ReplicationsDeps {
  readonly state: WatchedSetting<XdcrState>;
  readonly view: ClusterView;
  readonly references: ReferencesService;
  /** Whether the source bucket of a replication exists. */
  readonly hasSource: (replication: StoredReplication) => boolean;
  readonly callTarget: CallTarget;
  readonly random: Random;
  /** Defaults that the internal settings give. */
  readonly replicationDefaults: () => Partial<ReplicationSettings>;
}

type Form = Readonly<Record<string, string>>;

interface ReplicationNames {
  readonly fromBucket: string;
  readonly toCluster: string;
  readonly toBucket: string;
}

export class ReplicationsService {
  readonly #deps: ReplicationsDeps;

  constructor(deps: ReplicationsDeps) {
    this.#deps = deps;
  }

  /** The replications whose source bucket exists. */
  list(): readonly StoredReplication[] {
    return this.#deps.state.value.replications.filter(this.#deps.hasSource);
  }

  find(id: string): StoredReplication | undefined {
    return this.list().find((replication) => replication.id === id);
  }

  defaults(): ReplicationSettings {
    return this.#defaultsOf(this.#deps.state.value);
  }

  /**
   * Creates a replication; `isTrial`: only checks whether it could be created. `authorize` is called with a valid source bucket, and throws
   * if the caller may not replicate it.
   */
  async create(form: Form, isTrial: boolean, authorize: (bucket: string) => void): Promise<string> {
    const { changes, problems } = await readSettings(form);
    const names = readNames(form, problems);
    const source = this.#deps.view.liveBucket(names.fromBucket);
    if (source === undefined)
      throw invalid({
        fromBucket: `Error validating source bucket '${names.fromBucket}'. err=Bucket doesn't exist`,
      });
    if (source.type === 'cache') throw invalid({ fromBucket: `Incompatible source bucket '${source.name}'` });
    authorize(source.name);
    const reference = this.#deps.references.find(names.toCluster);
    if (reference === undefined) throw unknownCluster(names.toCluster);
    const { mapping, problems: wrong } = await readMapping(form, implicitMapping, this.#collections(source));
    const after = { ...this.defaults(), ...changes };
    const allWrong = { ...wrong, ...(await removalFilterProblems(after)) };
    if (Object.keys(allWrong).length > 0) throw invalid(allWrong);
    await this.#checkTarget(reference, names.toBucket, source.conflictResolutionType);
    if (reference.uuid === this.#deps.view.cluster.uuid && names.toBucket === source.name)
      throw xdcrRefusals.sameBucket();
    const replication: Omit<StoredReplication, 'settings' | 'filterEpochs'> = {
      id: `${reference.uuid}/${source.name}/${names.toBucket}`,
      clusterUuid: reference.uuid,
      fromBucket: source.name,
      fromBucketUuid: source.uuid,
      toBucket: names.toBucket,
      ...networkOf(form),
      pauseRequested: booleanOf(form['pauseRequested'] ?? 'false') ?? false,
      mapping,
      formerMappings: [],
    };
    await this.#change((state) => {
      // The reference may have been removed while the target was asked.
      if (!state.references.some(({ uuid }) => uuid === reference.uuid))
        throw unknownCluster(names.toCluster);
      return this.#withReplication(state, replication, changes);
    }, isTrial);
    return replication.id;
  }

  /** The state with a replication that has the default settings of the state, and these changes of them. */
  #withReplication(
    state: XdcrState,
    replication: Omit<StoredReplication, 'settings' | 'filterEpochs'>,
    changes: Partial<ReplicationSettings>,
  ): XdcrState {
    const others = state.replications.filter(this.#deps.hasSource);
    if (others.some(({ id }) => id === replication.id)) throw xdcrRefusals.exists();
    if (others.length >= limits.replications) throw xdcrRefusals.tooMany({ count: limits.replications });
    const settings = { ...this.#defaultsOf(state), ...changes };
    const filterEpochs = firstEpochs(settings.filterExpression);
    return { ...state, replications: [...others, { ...replication, settings, filterEpochs }] };
  }

  async remove(id: string): Promise<void> {
    await this.#change((state) => {
      if (!state.replications.some((replication) => replication.id === id))
        throw xdcrRefusals.unknownReplication();
      return { ...state, replications: state.replications.filter((replication) => replication.id !== id) };
    }, false);
  }

  async change(id: string, form: Form, isTrial: boolean): Promise<StoredReplication> {
    let checkedWith = this.find(id);
    for (;;) {
      const { isChanged, replication } = await this.#tryChange(checkedWith, id, form, isTrial);
      if (isChanged) return replication;
      checkedWith = replication;
    }
  }

  /**
   * Checks the form with the replication as `checkedWith`. Changes nothing if another request has changed its settings or its mapping since, and
   * returns the stored replication, with which the next attempt checks the form: this node's copy of the configuration may be older.
   */
  async #tryChange(
    checkedWith: StoredReplication | undefined,
    id: string,
    form: Form,
    isTrial: boolean,
  ): Promise<{ isChanged: boolean; replication: StoredReplication }> {
    const { changes, problems } = await readSettings(form);
    const pause = form['pauseRequested'];
    const isPaused = pause === undefined ? undefined : booleanOf(pause);
    const skip = form['filterSkipRestream'];
    const lacksSkip = changes.filterExpression !== undefined && skip === undefined;
    const mapping = changesMapping(form) ? await this.#mappingAfter(checkedWith, form) : null;
    const settingsBefore = checkedWith?.settings;
    const allProblems = {
      ...(settingsBefore !== undefined && (await removalFilterProblems({ ...settingsBefore, ...changes }))),
      ...problems,
      ...networkProblem(form),
      ...mapping?.problems,
      ...(lacksSkip && { filterExpression: 'Filter skip restream flag is required along with a filter' }),
      ...(pause !== undefined && isPaused === undefined && { pauseRequested: 'The value must be a boolean' }),
    };
    if (Object.keys(allProblems).length > 0) throw xdcrRefusals.invalidBare(allProblems);
    let isCurrent = true;
    const state = await this.#change((before) => {
      const present = before.replications.filter(this.#deps.hasSource).find((found) => found.id === id);
      if (present === undefined) throw xdcrRefusals.unknownReplication();
      isCurrent = checkedWith !== undefined && isSameChoice(present, checkedWith);
      if (!isCurrent) return before;
      const changed = (replication: StoredReplication): StoredReplication => ({
        ...(mapping === null ? replication : withMapping(replication, mapping.mapping)),
        ...networkOf(form),
        settings: { ...replication.settings, ...changes },
        filterEpochs: isSameFilter(replication, changes)
          ? replication.filterEpochs
          : nextEpochs(replication.filterEpochs, booleanOf(skip ?? '') === true, this.#deps.random),
        pauseRequested: isPaused ?? replication.pauseRequested,
      });
      return {
        ...before,
        replications: before.replications.map((replication) =>
          replication.id === id ? changed(replication) : replication,
        ),
      };
    }, isTrial);
    const replication = state.replications.find((found) => found.id === id) as StoredReplication;
    return { isChanged: isCurrent, replication };
  }

  /** Changes the defaults of replications that are created later. */
  async changeDefaults(form: Form, isTrial: boolean): Promise<ReplicationSettings> {
    const { changes, problems } = await readSettings(form);
    for (const name of ['filterExpression', 'filterSkipRestream', 'network_type', ...mappingNames])
      if ((form[name] ?? '').trim() !== '')
        problems[name] = 'This is a setting of each replication, without a default; leave it out';
    Object.assign(problems, missingSwitches({ ...this.defaults(), ...changes }));
    if (Object.keys(problems).length > 0) throw xdcrRefusals.invalidBare(problems);
    const state = await this.#change((before) => {
      // The defaults may have changed since the form was checked.
      const wrong = missingSwitches({ ...this.#defaultsOf(before), ...changes });
      if (Object.keys(wrong).length > 0) throw xdcrRefusals.invalidBare(wrong);
      return { ...before, defaults: { ...before.defaults, ...changes } };
    }, isTrial);
    return this.#defaultsOf(state);
  }

  /** @throws AppError when there is no such replication */
  async #mappingAfter(replication: StoredReplication | undefined, form: Form) {
    const source = this.#deps.view.liveBucket(replication?.fromBucket ?? '');
    if (replication === undefined || source === undefined) throw xdcrRefusals.unknownReplication();
    return await readMapping(form, replication.mapping, this.#collections(source));
  }

  #collections({ uuid }: { readonly uuid: string }): SourceCollections {
    const { scopes } = this.#deps.view.manifest(uuid);
    return new Map(
      scopes.map(({ name, collections }) => [name, new Set(collections.map((one) => one.name))]),
    );
  }

  #defaultsOf({ defaults }: XdcrState): ReplicationSettings {
    return { ...defaultReplicationSettings, ...this.#deps.replicationDefaults(), ...defaults };
  }

  async #checkTarget(reference: StoredReference, bucket: string, sourceResolution: string): Promise<void> {
    const { references, callTarget } = this.#deps;
    const [hostname = reference.hostname] = reference.nodes;
    const account = { ...references.accountOf(reference), hostname };
    const found = await findBucket(callTarget, account, bucket).catch((error: Error) => {
      throw error instanceof TargetError ? invalid({ toBucket: error.message }) : error;
    });
    if (found === null)
      throw invalid({ toBucket: `Error validating target bucket '${bucket}'. err=Bucket doesn't exist` });
    if (['memcached', 'cache'].includes(found.type))
      throw invalid({ toBucket: `Incompatible target bucket '${bucket}'` });
    if (found.vbuckets !== vbucketCount)
      throw invalid({
        toBucket: `The number of vbuckets in source cluster, ${vbucketCount}, and target cluster, ${found.vbuckets}, does not match. This configuration is not supported.`,
      });
    if (found.conflictResolution !== sourceResolution) throw xdcrRefusals.otherResolution();
  }

  async #change(change: (state: XdcrState) => XdcrState, isTrial: boolean): Promise<XdcrState> {
    const { state } = this.#deps;
    return isTrial ? change(state.value) : await state.change(change);
  }
}

const isSameFilter = ({ settings }: StoredReplication, changes: Partial<ReplicationSettings>): boolean =>
  (changes.filterExpression ?? settings.filterExpression) === settings.filterExpression;

const isSameChoice = (one: StoredReplication, other: StoredReplication): boolean =>
  JSON.stringify([one.settings, one.mapping]) === JSON.stringify([other.settings, other.mapping]);

const unknownCluster = (name: string) =>
  invalid({ toCluster: `cannot find remote cluster\n err = unknown remote cluster : refName - ${name}` });

const invalid = (fields: Readonly<Record<string, string>>) => xdcrRefusals.invalidFields(fields);

/** The network that a form chooses. Without a choice a replication keeps its network, and a new replication has the network of its reference. */
const networkOf = ({ network_type: network = '' }: Form): Pick<StoredReplication, 'isExternal'> =>
  network === '' ? {} : { isExternal: network === 'external' };

const networkProblem = ({ network_type: network = '' }: Form): Record<string, string> =>
  ['', 'default', 'external'].includes(network) ? {} : { network_type: 'network_type specified is invalid' };

/** @throws AppError with all wrong fields, those of settings included */
function readNames(form: Form, problems: Readonly<Record<string, string>>): ReplicationNames {
  const { fromBucket = '', toCluster = '', toBucket = '', replicationType = '', pauseRequested } = form;
  const allProblems: Record<string, string> = { ...problems, ...networkProblem(form) };
  if (replicationType === '') allProblems['replicationType'] = 'replication type cannot be empty';
  else if (replicationType !== 'continuous') allProblems['replicationType'] = 'replicationType is invalid';
  if (fromBucket === '') allProblems['fromBucket'] = 'source bucket cannot be empty';
  if (toCluster === '') allProblems['toCluster'] = 'target cluster cannot be empty';
  if (toBucket === '') allProblems['toBucket'] = 'target bucket cannot be empty';
  if (pauseRequested !== undefined && booleanOf(pauseRequested) === undefined)
    allProblems['pauseRequested'] = 'The value must be a boolean';
  if (Object.keys(allProblems).length > 0) throw invalid(allProblems);
  return { fromBucket, toCluster, toBucket };
}
