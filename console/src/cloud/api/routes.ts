// The operations of the cloud that the console calls. The compiler compares methods and paths with their declarations, from which the
// types of bodies and answers come.
import type { z } from 'zod';
import type {
  AppendAllowlist,
  DeleteAllowlistEntry,
  ListAllowlist,
} from '../../../../src/cloud/allowlist/allowlist.contract.ts';
import type {
  CreateBucket,
  DeleteBucket,
  ListBuckets,
  UpdateBuckets,
} from '../../../../src/cloud/buckets/buckets.contract.ts';
import type { ShowCaller } from '../../../../src/cloud/callers/callers.contract.ts';
import type { ListClouds } from '../../../../src/cloud/clouds/clouds.contract.ts';
import type { CreateCluster } from '../../../../src/cloud/clusters/v2.contract.ts';
import type {
  V3CreateCluster,
  V3DeleteCluster,
  V3ListClusters,
  V3ShowCluster,
  V3ShowClusterStatus,
  V3UpdateClusterMeta,
  V3UpdateClusterServers,
} from '../../../../src/cloud/clusters/v3.contract.ts';
import type {
  DeleteDatabaseUser,
  ListDatabaseUsers,
  UpdateDatabaseUser,
  V3CreateClusterUser,
} from '../../../../src/cloud/database-users/database-users.contract.ts';
import type { ShowCertificate, ShowHealth } from '../../../../src/cloud/health/health.contract.ts';
import type { ShowOperation } from '../../../../src/cloud/operations/operations.contract.ts';
import type { ListOrganizationUsers } from '../../../../src/cloud/organization-users/organization-users.contract.ts';
import type {
  CreateProject,
  DeleteProject,
  ListProjects,
  ShowProject,
} from '../../../../src/cloud/projects/projects.contract.ts';
import type { Call } from '../../api/request.ts';

/** The parts of a declaration from which a call gets its types. */
export interface Declared {
  readonly method: string;
  readonly path: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly replies: Readonly<Record<number, { readonly doc: string }>>;
}

export interface Route<O extends Declared> {
  readonly call: Call;
  /** Absent at run time: carries the types of the operation. */
  readonly operation?: O;
}

/** An operation that is declared with a path of v2, and that the cloud also serves under v3. */
type UnderV3<O extends Declared> = Omit<O, 'path'> & {
  readonly path: O['path'] extends `/v2/${infer Rest}` ? `/v3/${Rest}` : O['path'];
};

/** `{id}` and other names in a path. */
type NamesIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

export type OptionsOf<O extends Declared> = {
  readonly signal?: AbortSignal;
} & ([NamesIn<O['path']>] extends [never]
  ? unknown
  : { readonly path: Readonly<Record<NamesIn<O['path']>, string>> }) &
  (O extends { readonly query: infer Q extends z.ZodType }
    ? { readonly query?: Readonly<Partial<z.input<Q>>> }
    : unknown) &
  (O extends { readonly body: infer B extends z.ZodType } ? { readonly body: z.input<B> } : unknown);

export type AnswerOf<O extends Declared> = O['replies'][keyof O['replies']] extends {
  readonly body: infer B extends z.ZodType;
}
  ? z.output<B>
  : undefined;

const route = <O extends Declared>(
  call: `${O['method']} ${O['path']}` extends infer C extends Call ? C : never,
): Route<O> => ({ call });

export const routes = {
  caller: route<typeof ShowCaller>('GET /v3/caller'),
  organizationUsers: route<typeof ListOrganizationUsers>('GET /v2/users'),
  clouds: route<typeof ListClouds>('GET /v2/clouds'),

  projects: route<typeof ListProjects>('GET /v2/projects'),
  project: route<typeof ShowProject>('GET /v2/projects/{id}'),
  createProject: route<typeof CreateProject>('POST /v2/projects'),
  deleteProject: route<typeof DeleteProject>('DELETE /v2/projects/{id}'),

  clusters: route<typeof V3ListClusters>('GET /v3/clusters'),
  cluster: route<typeof V3ShowCluster>('GET /v3/clusters/{id}'),
  clusterStatus: route<typeof V3ShowClusterStatus>('GET /v3/clusters/{id}/status'),
  createHosted: route<typeof V3CreateCluster>('POST /v3/clusters'),
  createInCloud: route<typeof CreateCluster>('POST /v2/clusters'),
  renameCluster: route<typeof V3UpdateClusterMeta>('PUT /v3/clusters/{id}/meta'),
  scaleCluster: route<typeof V3UpdateClusterServers>('PUT /v3/clusters/{id}/servers'),
  deleteCluster: route<typeof V3DeleteCluster>('DELETE /v3/clusters/{id}'),
  operation: route<typeof ShowOperation>('GET /v3/operations/{id}'),
  health: route<UnderV3<typeof ShowHealth>>('GET /v3/clusters/{id}/health'),
  certificate: route<UnderV3<typeof ShowCertificate>>('GET /v3/clusters/{id}/certificate'),

  buckets: route<UnderV3<typeof ListBuckets>>('GET /v3/clusters/{id}/buckets'),
  createBucket: route<UnderV3<typeof CreateBucket>>('POST /v3/clusters/{id}/buckets'),
  changeBuckets: route<UnderV3<typeof UpdateBuckets>>('PUT /v3/clusters/{id}/buckets'),
  deleteBucket: route<UnderV3<typeof DeleteBucket>>('DELETE /v3/clusters/{id}/buckets'),

  allowlist: route<UnderV3<typeof ListAllowlist>>('GET /v3/clusters/{id}/allowlist'),
  allow: route<UnderV3<typeof AppendAllowlist>>('POST /v3/clusters/{id}/allowlist'),
  disallow: route<UnderV3<typeof DeleteAllowlistEntry>>('DELETE /v3/clusters/{id}/allowlist'),

  users: route<UnderV3<typeof ListDatabaseUsers>>('GET /v3/clusters/{id}/users'),
  createUser: route<typeof V3CreateClusterUser>('POST /v3/clusters/{id}/users'),
  changeUser: route<UnderV3<typeof UpdateDatabaseUser>>('PUT /v3/clusters/{id}/users/{username}'),
  deleteUser: route<UnderV3<typeof DeleteDatabaseUser>>('DELETE /v3/clusters/{id}/users/{username}'),
} as const;

type AnswerOfRoute<R> = R extends Route<infer O> ? AnswerOf<O> : never;

export type Caller = AnswerOfRoute<typeof routes.caller>;
export type Project = AnswerOfRoute<typeof routes.project>;
export type Cluster = AnswerOfRoute<typeof routes.cluster>;
export type ClusterItem = AnswerOfRoute<typeof routes.clusters>['data']['items'][number];
export type ClusterStatus = AnswerOfRoute<typeof routes.clusterStatus>['status'];
export type Operation = AnswerOfRoute<typeof routes.operation>;
export type Health = AnswerOfRoute<typeof routes.health>;
export type Bucket = AnswerOfRoute<typeof routes.buckets>[number];
export type AllowlistEntry = AnswerOfRoute<typeof routes.allowlist>[number];
export type DatabaseUser = AnswerOfRoute<typeof routes.users>[number];
