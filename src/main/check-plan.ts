// Checks the plan of a first start by the rules of the REST API before anything starts. Each problem names its place in the init
// file and the value. Loaded only for a plan that is not empty.
import {
  defaultPasswordPolicy,
  passwordProblem,
  nameProblem as userNameProblem,
} from '#auth/identity-rules.ts';
import { parseRoles } from '#auth/role-names.ts';
import { compactionDefaults } from '#cluster/auto-compaction/settings.ts';
import { readNewBucket } from '#cluster/buckets/bucket-rules/read-bucket.ts';
import { withBucket } from '#cluster/buckets/buckets.store.ts';
import { maxTtlMax, nameProblem } from '#cluster/collections/manifest.ts';
import {
  type BucketsState,
  type Edition,
  noBuckets,
  type StoredBucket,
  type Vocabulary,
} from '#cluster/config/cluster-state.ts';
import { memoryLimit } from '#cluster/nodes/adapters/machine.adapter.ts';
import { defaultQuotasMb } from '#cluster/provisioning/quotas.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { keyBytesMax } from '#wire/collection-id.ts';
import { bucketFields, type InitPlan, type PlannedBucket, type PlannedUser } from './init-plan.ts';
import { UsageError } from './options.ts';

export interface PlanContext {
  /** The option `--memory-quota`; when absent, the quota depends on the machine's memory. */
  memoryQuotaMb: number | undefined;
  edition: Edition;
  wireNames: Vocabulary;
  /** The option `--services`. */
  services: string;
  /** The number of the plan's buckets that `--bucket` options added; they come first. */
  bucketOptionCount: number;
  /** The init file. */
  file: string;
}

/** The names of a bucket in the restored backup, to which roles of the plan may refer. */
interface RestoredNames {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly collections: readonly { readonly scope: string; readonly name: string }[];
}

const problemsShown = 20;
const bucketsMax = 30;
const valueBytesMax = 20 * 1024 * 1024;
const statementsMax = 10_000;

/** Throws a UsageError that lists the problems, up to a limit. */
export async function checkPlan(plan: InitPlan, context: PlanContext): Promise<void> {
  const check = new PlanCheck(plan, context);
  await check.readBackup();
  check.checkBucketsAndUsers();
  await check.checkStatements();
  await check.checkReplications();
  if (check.problems.length > 0)
    throw new UsageError(check.problems.slice(0, problemsShown).join('\ndivan: '));
}

class PlanCheck {
  readonly problems: string[] = [];
  private readonly plan: InitPlan;
  private readonly context: PlanContext;
  private state: BucketsState;
  /** Buckets of the backup that is restored. */
  private restored: readonly RestoredNames[] = [];

  constructor(plan: InitPlan, context: PlanContext) {
    this.plan = plan;
    this.context = context;
    this.state = noBuckets(context.memoryQuotaMb ?? defaultQuotasMb(memoryLimit()).memoryQuota);
  }

  checkBucketsAndUsers(): void {
    for (const [index, bucket] of this.plan.buckets.entries()) this.checkBucket(bucket, this.placeOf(index));
    if (this.plan.buckets.length > bucketsMax)
      this.addProblem(
        this.inFile('buckets'),
        this.plan.buckets.length,
        `a node has at most ${bucketsMax} buckets`,
      );
    for (const [index, user] of this.plan.users.entries())
      this.checkUser(user, this.inFile(`users.${index}`));
  }

  /** Reads the manifest of the backup; the code for that is loaded only if there is one. */
  async readBackup(): Promise<void> {
    const { restore } = this.plan;
    if (restore === null) return;
    const { findBackup } = await import('#backup/archive/repository.adapter.ts');
    const { backupPassphrase } = await import('./backup/passphrase.ts');
    try {
      const { repository, name } = findBackup(restore, backupPassphrase());
      this.restored = repository.chain(repository.chosen(name ?? undefined))[0]?.buckets ?? [];
    } catch (error) {
      if ((error as { isExplained?: boolean }).isExplained !== true) throw error;
      this.addProblem(this.inFile('restore'), undefined, (error as Error).message);
    }
  }

  /** Checks only the syntax: earlier statements may create what a statement names. Loads the parser only if there are statements. */
  async checkStatements(): Promise<void> {
    const { statements } = this.plan;
    if (statements.length === 0) return;
    const { services } = this.context;
    if (!services.split(',').includes('n1ql'))
      return this.addProblem(
        this.inFile('statements'),
        undefined,
        `--services ${services} lacks n1ql, which runs them`,
      );
    if (statements.length > statementsMax)
      this.addProblem(this.inFile('statements'), statements.length, `at most ${statementsMax} are run`);
    const { parseStatement } = await import('#sqlpp/text/parser.ts');
    for (const [index, text] of statements.slice(0, statementsMax).entries()) {
      try {
        parseStatement(text);
      } catch (error) {
        if (!(error instanceof SqlError)) throw error;
        this.addProblem(this.inFile(`statements.${index}`), undefined, `${error.code}: ${error.message}`);
      }
    }
  }

  /** Checks the replications. The code that does so is loaded only if the plan has some. */
  async checkReplications(): Promise<void> {
    const { remoteClusters, replications } = this.plan;
    if (remoteClusters.length + replications.length === 0) return;
    const { replicationProblems } = await import('./planned-replications.ts');
    for (const { place, text } of await replicationProblems(this.plan))
      this.addProblem(this.inFile(place), undefined, text);
  }

  private checkBucket(bucket: PlannedBucket, place: string): void {
    const fields = Object.entries(bucketFields(bucket)).map(([name, value]) => [name, String(value)]);
    const form = Object.fromEntries(fields) as Record<string, string>;
    const { choices, problems } = readNewBucket(form, {
      buckets: this.state,
      edition: this.context.edition,
      wireNames: this.context.wireNames,
      dataNodes: 1,
      usedMb: 0,
      compaction: compactionDefaults,
    });
    for (const [name, text] of Object.entries(problems.fields))
      this.addProblem(
        `${place}.${name in bucket.parameters ? `parameters.${name}` : name}`,
        form[name],
        text,
      );
    const stored: StoredBucket = { ...choices, uuid: bucket.name, incarnation: 0, state: 'ready' };
    this.state = withBucket(this.state, stored);
    this.checkScopes(bucket, place);
    this.checkDocuments(bucket, place);
  }

  private checkScopes(bucket: PlannedBucket, place: string): void {
    for (const [index, scope] of bucket.scopes.entries()) {
      const scopePlace = `${place}.scopes.${index}`;
      if (bucket.type === 'memcached' || bucket.type === 'cache')
        this.addProblem(scopePlace, scope.name, 'a bucket of this type has no scopes');
      if (scope.name !== '_default') this.checkName(`${scopePlace}.name`, scope.name);
      if (bucket.scopes.findIndex(({ name }) => name === scope.name) < index)
        this.addProblem(`${scopePlace}.name`, scope.name, 'is listed twice');
      const names = new Set<string>();
      for (const [number, collection] of scope.collections.entries()) {
        const name = typeof collection === 'string' ? collection : collection.name;
        const collectionPlace = `${scopePlace}.collections.${number}`;
        this.checkName(typeof collection === 'string' ? collectionPlace : `${collectionPlace}.name`, name);
        if (names.has(name)) this.addProblem(collectionPlace, name, 'is listed twice');
        names.add(name);
        if (typeof collection !== 'string' && (collection.maxTTL ?? 0) > maxTtlMax)
          this.addProblem(`${collectionPlace}.maxTTL`, collection.maxTTL, `must be from 0 to ${maxTtlMax}`);
      }
    }
  }

  private checkDocuments(bucket: PlannedBucket, place: string): void {
    for (const [index, { key, value, scope, collection }] of bucket.documents.entries()) {
      const documentPlace = `${place}.documents.${index}`;
      const keyMax =
        scope === '_default' && collection === '_default' ? keyBytesMax.inDefault : keyBytesMax.inOthers;
      if (Buffer.byteLength(key) > keyMax)
        this.addProblem(`${documentPlace}.key`, key, `has more than ${keyMax} bytes`);
      if (Buffer.byteLength(JSON.stringify(value)) > valueBytesMax)
        this.addProblem(`${documentPlace}.value`, undefined, `has more than ${valueBytesMax} bytes`);
      if (!hasScope(bucket, scope))
        this.addProblem(`${documentPlace}.scope`, scope, `bucket "${bucket.name}" has no such scope`);
      else if (!hasCollection(bucket, scope, collection))
        this.addProblem(
          `${documentPlace}.collection`,
          collection,
          `scope "${scope}" of bucket "${bucket.name}" has no such collection`,
        );
    }
  }

  private checkUser({ name, password, roles }: PlannedUser, place: string): void {
    this.addUnlessNull(`${place}.name`, name, userNameProblem(name, 'Username'));
    // Never the value: it is a secret.
    this.addUnlessNull(`${place}.password`, undefined, passwordProblem(password, defaultPasswordPolicy));
    for (const [index, text] of roles.entries()) {
      const { roles: good, invalid: bad } = parseRoles(text);
      if (bad.length > 0 || good.length === 0)
        this.addProblem(`${place}.roles.${index}`, text, 'is not a role');
      for (const role of good) {
        const [bucket = null, scope = null, collection = null] = role.names;
        if (!this.targetExists(bucket, scope, collection))
          this.addProblem(
            `${place}.roles.${index}`,
            text,
            'names a bucket, scope or collection that neither the init file nor --bucket creates',
          );
      }
    }
  }

  private targetExists(bucket: string | null, scope: string | null, collection: string | null): boolean {
    if (bucket === null || this.isRestored(bucket, scope, collection)) return true;
    const found = this.plan.buckets.find(({ name }) => name === bucket);
    if (found === undefined) return false;
    if (scope === null) return true;
    return hasScope(found, scope) && (collection === null || hasCollection(found, scope, collection));
  }

  private isRestored(bucket: string, scope: string | null, collection: string | null): boolean {
    const found = this.restored.find(({ name }) => name === bucket);
    if (found === undefined) return false;
    if (collection === null) return scope === null || found.scopes.includes(scope);
    return found.collections.some((candidate) => candidate.scope === scope && candidate.name === collection);
  }

  private checkName(place: string, name: string): void {
    this.addUnlessNull(place, name, nameProblem(name));
  }

  private addUnlessNull(place: string, value: unknown, text: string | null): void {
    if (text !== null) this.addProblem(place, value, text);
  }

  private addProblem(place: string, value: unknown, text: string): void {
    this.problems.push(
      value === undefined ? `${place}: ${text}` : `${place}: ${JSON.stringify(value)}: ${text}`,
    );
  }

  private placeOf(index: number): string {
    const { bucketOptionCount } = this.context;
    return index < bucketOptionCount
      ? `--bucket ${this.plan.buckets[index]?.name}`
      : this.inFile(`buckets.${index - bucketOptionCount}`);
  }

  private inFile(place: string): string {
    return `--init: ${this.context.file}: ${place}`;
  }
}

const hasScope = (bucket: PlannedBucket, scope: string): boolean =>
  scope === '_default' || bucket.scopes.some(({ name }) => name === scope);

function hasCollection(bucket: PlannedBucket, scope: string, collection: string): boolean {
  if (scope === '_default' && collection === '_default') return true;
  const found = bucket.scopes.filter(({ name }) => name === scope).flatMap(({ collections }) => collections);
  return found.some(
    (candidate) => (typeof candidate === 'string' ? candidate : candidate.name) === collection,
  );
}
