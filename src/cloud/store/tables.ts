// The rows of the cloud's tables. Times are milliseconds since 1970; lists and objects are JSON text, equal in both databases.
import type { Kysely } from 'kysely';

export interface Tables {
  /** Single values by name, such as `tenant_id`. */
  facts: { name: string; value: string };
  clouds: CloudRow;
  members: { id: string; name: string; email: string; created_at: number };
  projects: ProjectRow;
  tokens: TokenRow;
  clusters: ClusterRow;
  nodes: NodeRow;
  operations: OperationRow;
  database_users: DatabaseUserRow;
  /** Unconfirmed user changes, under the name of a released migration. */
  user_doubts: UnconfirmedUserChangeRow;
  allowlist: AllowlistRow;
}

export interface CloudRow {
  id: string;
  name: string;
  provider: string;
  region: string;
  cidr: string;
  status: string;
  created_at: number;
}

export interface ProjectRow {
  id: string;
  name: string;
  created_at: number;
}

export interface TokenRow {
  id: string;
  /** SHA-256 of the token, hexadecimal: a token is too long to be guessed, so a plain hash is enough. */
  token_hash: string;
  access_key: string;
  /** The signing secret, encrypted under the key file. */
  secret_sealed: string;
  role: string;
  project_id: string | null;
  /** `start:<home>`: issued by a process for its ready file and revoked by the next process with that home; `operator`: issued by a command. */
  origin: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
}

export interface ClusterRow {
  id: string;
  /** `vpc`: in a customer's cloud (v2), has a cloud_id; `hosted`: v3. */
  environment: string;
  name: string;
  project_id: string;
  cloud_id: string | null;
  description: string;
  /** The request: servers, place, support; JSON. */
  spec: string;
  node_count: number;
  /** See phase.ts. */
  phase: string;
  /** The process that runs the nodes: the id in its data folder. */
  home: string;
  administrator_sealed: string;
  certificate: string | null;
  created_at: number;
  updated_at: number;
  deployed_at: number | null;
}

export interface NodeRow {
  id: string;
  cluster_id: string;
  /** The order of the nodes of a cluster; the first is the founder. */
  position: number;
  memory_mb: number;
  services: string;
  /** Empty: the node has no address yet, or lost it. */
  address: string;
  /** `NodePorts`, JSON. */
  ports: string;
  home: string;
  /** `new`: not in the cluster yet; `member`; `leaving`: removed as soon as it holds no documents. */
  state: string;
}

export interface OperationRow {
  id: string;
  cluster_id: string;
  project_id: string;
  kind: string;
  /** The current or next step. */
  step: string;
  state: string;
  attempts: number;
  last_error: string | null;
  home: string;
  /** The worker that holds the lease until `lease_until`. */
  owner: string | null;
  lease_until: number;
  next_at: number;
  deadline: number;
  created_at: number;
  updated_at: number;
}

export interface DatabaseUserRow {
  cluster_id: string;
  username: string;
  user_id: string;
  /** `Access[]`, JSON. */
  access: string;
  created_at: number;
}

/** A user change that the node did not confirm: it may have been applied, or be applied later. */
export interface UnconfirmedUserChangeRow {
  cluster_id: string;
  username: string;
  /** When the cloud sent the stored user to the node for the first time; null: not yet. */
  told_at: number | null;
}

export interface AllowlistRow {
  cluster_id: string;
  cidr: string;
  /** As sent; null: the entry is permanent. */
  duration: string | null;
  comment: string | null;
  /** `pending`, `active`, `failed`, `expired`; `removed`: not listed, but a node may still admit it. */
  state: string;
  created_at: number;
  updated_at: number;
  expires_at: number | null;
}

export type Store = Kysely<Tables>;
