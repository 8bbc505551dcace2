// Replication between clusters in the cluster manager: its services, and the wanted replications, which the data path applies.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { ReplicationReport, TargetAccess, WantedReplication, XdcrAdmin } from '#xdcr/xdcr.contract.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { WatchedSetting } from '../config/watched-setting.ts';
import { chosenInternalSettings } from '../internal-settings/internal-settings.ts';
import type { Peers } from '../peers/peers.ts';
import { CheckpointsInConfig } from './checkpoints.store.ts';
import { mergedReports } from './merged-reports.ts';
import { ReferenceChecks } from './reference-checks.ts';
import { ReferencesService } from './references.service.ts';
import { replicationDefaults } from './replication-defaults.ts';
import { ReplicationsService } from './replications.service.ts';
import type { CallTarget } from './target-cluster.ts';
import {
  noXdcr,
  type StoredReference,
  type StoredReplication,
  type XdcrState,
  xdcrSetting,
} from './xdcr-state.ts';
import { replicationTask } from './xdcr-tasks.ts';

export interface XdcrDeps {
  readonly store: ConfigStore;
  readonly view: ClusterView;
  readonly secrets: SecretBox;
  readonly callTarget: CallTarget;
  readonly xdcr?: XdcrAdmin | undefined;
  readonly encryptionLevel: () => string | null;
  readonly nodeId: string;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

/** Other nodes must send their reports within this time. */
const reportTimeoutMs = 2_000;

const noDataPath: XdcrAdmin = { useCheckpoints: () => {}, apply: () => {}, reports: () => [] };

export class Xdcr {
  readonly references: ReferencesService;
  readonly replications: ReplicationsService;
  readonly checks: ReferenceChecks;
  readonly #deps: XdcrDeps;
  readonly #state: WatchedSetting<XdcrState>;
  readonly #admin: XdcrAdmin;
  #watches: { stop(): void }[] = [];
  /** The wanted replications that the data path has, as JSON text. */
  #applied = '';

  constructor(deps: XdcrDeps) {
    this.#deps = deps;
    this.#admin = deps.xdcr ?? noDataPath;
    this.#state = new WatchedSetting(deps.store, xdcrSetting, noXdcr);
    const hasBucket = (uuid: string) => deps.view.liveBuckets().some((bucket) => bucket.uuid === uuid);
    const checkpoints = new CheckpointsInConfig(deps.store, hasBucket);
    this.#admin.useCheckpoints(checkpoints);
    deps.peers.answer('xdcrReports', () => this.#admin.reports());
    const serviceDeps = {
      ...deps,
      state: this.#state,
      hasSource: ({ fromBucket, fromBucketUuid }: StoredReplication) =>
        deps.view.liveBucket(fromBucket)?.uuid === fromBucketUuid,
    };
    const deleteCheckpoints = (uuid: string) => checkpoints.deleteForCluster(uuid);
    this.references = new ReferencesService({ ...serviceDeps, deleteCheckpoints });
    this.replications = new ReplicationsService({
      ...serviceDeps,
      references: this.references,
      replicationDefaults: () => replicationDefaults(chosenInternalSettings(deps.view)),
    });
    const accountOf = (reference: StoredReference) => this.references.accountOf(reference);
    this.checks = new ReferenceChecks({ ...serviceDeps, accountOf });
  }

  async start(): Promise<void> {
    await this.#state.start();
  }

  /** Applies the configuration to the data path, now and after each change. */
  follow(): void {
    const apply = () => this.#apply();
    this.#watches = [this.#state.onChange(apply), this.#deps.view.onChange(apply)];
    apply();
    this.checks.start();
  }

  stop(): void {
    for (const watch of this.#watches.splice(0)) watch.stop();
    this.checks.stop();
    this.#state.stop();
  }

  /** Whether documents of the bucket are replicated to another cluster. */
  isSource(bucket: string): boolean {
    return this.replications.list().some(({ fromBucket }) => fromBucket === bucket);
  }

  reports(): readonly ReplicationReport[] {
    return this.#admin.reports();
  }

  /** The replications with the figures of all nodes; a node that does not answer is reported as an error of each. */
  async tasks(): Promise<Record<string, unknown>[]> {
    const replications = this.replications.list();
    if (replications.length === 0) return [];
    const { view, nodeId, peers } = this.#deps;
    const others = view.dataNodes.filter(({ uuid }) => uuid !== nodeId);
    const remoteReports = await Promise.all(
      others.map(({ uuid, otpNode }) =>
        peers.ask<readonly ReplicationReport[]>(uuid, 'xdcrReports', null, reportTimeoutMs).catch(() => {
          const errors = [{ timeMs: this.#deps.clock.wallMs(), text: `node ${otpNode} does not answer` }];
          return replications.map(({ id }) => ({ id, isConnected: false, figures: {}, errors }));
        }),
      ),
    );
    const reports = mergedReports([...this.#admin.reports(), ...remoteReports.flat()]);
    return replications.map((replication) => replicationTask(replication, reports.get(replication.id)));
  }

  #apply(): void {
    const wanted = this.replications.list().flatMap((replication) => this.#wanted(replication) ?? []);
    const text = JSON.stringify(wanted);
    if (text === this.#applied) return;
    this.#applied = text;
    this.#admin.apply(wanted);
  }

  #wanted(replication: StoredReplication): WantedReplication | null {
    const { id, clusterUuid, fromBucket, fromBucketUuid, toBucket, settings } = replication;
    const reference = this.references.list().find(({ uuid }) => uuid === clusterUuid);
    const bucket = this.#deps.view.liveBucket(fromBucket);
    if (reference === undefined || bucket === undefined) return null;
    return {
      id,
      source: { bucket: fromBucket, uuid: fromBucketUuid },
      target: { bucket: toBucket, access: this.#accessTo(reference, replication.isExternal) },
      conflictResolution: bucket.conflictResolutionType,
      settings,
      isPaused: replication.pauseRequested,
      filterEpochs: replication.filterEpochs,
      mapping: replication.mapping,
      formerMappings: replication.formerMappings,
    };
  }

  #accessTo(reference: StoredReference, usesAlternateAddresses = reference.isExternal): TargetAccess {
    const { nodes, secureType, uuid } = reference;
    const { username, password, certificate, clientCertificate, clientKey } =
      this.references.accountOf(reference);
    return {
      clusterUuid: uuid,
      hosts: nodes,
      username,
      password,
      usesAlternateAddresses,
      encryptsData: secureType === 'full',
      ...(certificate !== '' && { authority: certificate }),
      ...(clientCertificate !== '' && {
        clientCertificate: { certificate: clientCertificate, key: clientKey },
      }),
    };
  }
}
