// Chooses the plan that a request runs: that of its statement, of a prepared one by name, or of one that the request prepares.
import { createHash } from 'node:crypto';
import type { WorkSteps } from '#base/steps.ts';
import { untilAborted } from '#ports/within.ts';
import { SqlError, sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Datastore, PrepareCommand, PrepareContext, PreparedStatement } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { noSequentialScans } from '../query.contract.ts';
import { parseQueryContext } from '../request/query-context.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { Engine } from '../state/engine-port.ts';
import { longLengthMin } from '../state/long-statements.ts';
import type { QueryParts } from '../state/parts.ts';
import type { PreparedEntry } from '../state/prepared-cache.ts';
import { nameOfStatement, statementOfName } from '../state/statement-names.ts';
import { isKvStatement, kvStatement } from './kv-statement.ts';

export interface Chosen {
  readonly prepared: PreparedStatement;
  /** The cache entry; null for a plan of this request only. */
  readonly entry: PreparedEntry | null;
  /** The name in the answer's member `prepared`; null: the name of the entry if the request has `auto_execute`, otherwise no such member. */
  readonly shownName: string | null;
  /** The value of EXECUTE … USING, which replaces the request's parameters. */
  readonly using?: Value;
}

const statementBytesMax = 1 << 20;
/** After this many plans that were outdated when they were ready, a long statement is planned without pauses. */
const outdatedPlansMax = 3;

/** `choose` needs the plan of a long statement: the caller makes it with `steps`, and calls `choose` again. */
export class LongPlanNeededError extends Error {
  readonly steps: () => WorkSteps<PreparedStatement>;

  constructor(steps: () => WorkSteps<PreparedStatement>) {
    super('a long statement must be planned');
    this.steps = steps;
  }
}

type ValuesForPlan = Pick<PrepareContext, 'positional' | 'named' | 'onParameterRead'>;

export class PlanChooser {
  private readonly parts: QueryParts;
  private readonly engine: Engine;
  private readonly datastore: Datastore;
  private readonly request: QueryRequest;

  /** The name of a prepared statement that this node did not know. */
  private unknownName: string | null = null;
  /** The plans of the long statements that this request needs, by text: a long EXECUTE may run a long prepared one. */
  private readonly longPlans = new Map<string, { readonly prepared: PreparedStatement; revision: number }>();
  private outdatedPlans = 0;

  constructor(parts: QueryParts, engine: Engine, datastore: Datastore, request: QueryRequest) {
    this.parts = parts;
    this.engine = engine;
    this.datastore = datastore;
    this.request = request;
  }

  /**
   * @throws SqlError of the parser, the planner, or 4040
   * @throws LongPlanNeededError
   */
  choose(): Chosen {
    const { request, parts } = this;
    if (request.prepared) return { ...this.byName(request.prepared), shownName: null };
    const text = request.statement as string;
    checkLength(text);
    const isAutomatic = request.autoPrepare ?? parts.deps.settings.autoPrepare;
    if (isAutomatic) return { ...this.automatic(text), shownName: null };
    const prepared = this.adHoc(text);
    if (prepared.execute !== undefined) {
      const { name, using } = prepared.execute;
      if (isKvStatement(name))
        return { prepared: kvStatement(name, request, this.datastore), entry: null, shownName: null };
      return { ...this.byName(name), shownName: null, using };
    }
    return { prepared, entry: null, shownName: null };
  }

  /** Prepares a statement that the service itself issues, by default with this request's query context. */
  prepareText(text: string, queryContext?: string): PreparedStatement {
    return this.engine.prepare(text, this.contextOf(null, queryContext));
  }

  /** Like `prepareText`, for long texts of clients. While definitions change between its steps, the statement is planned again. */
  *prepareLongText(text: string, queryContext?: string): WorkSteps<PreparedStatement> {
    checkLength(text);
    const { parts } = this;
    for (let outdated = 0; outdated < outdatedPlansMax; outdated++) {
      const revision = parts.planRevision;
      const prepared = yield* this.engine.prepareSteps(text, this.contextOf(null, queryContext));
      if (parts.planRevision === revision) return prepared;
    }
    return this.prepareText(text, queryContext);
  }

  /** Like `prepareText`, for texts that occur repeatedly: their plans are cached. */
  prepareCached(text: string): PreparedStatement {
    return this.cached(text, {}, () => this.prepareText(text));
  }

  /** Like `prepareText`, but the plan may scan a collection even if the request or the settings disable sequential scans. */
  prepareScan(text: string): PreparedStatement {
    return this.engine.prepare(text, this.contextOf(null, undefined, true));
  }

  /** The statement of this name, replanned if definitions have changed, or if its plan may have a scan that the request must not have. */
  byName(name: string): { prepared: PreparedStatement; entry: PreparedEntry } {
    const { parts, request, sequentialScans } = this;
    const { queryContextText } = request;
    const known = parts.prepared.find(name, queryContextText);
    if (known) this.checkPlan(known);
    if (known === undefined) this.unknownName = name;
    const entry = known ?? this.fromPlan(name) ?? this.fromName(name);
    if (entry === undefined) throw sqlError(4040, name);
    if (entry.revision !== parts.planRevision || (entry.sequentialScans && !sequentialScans)) {
      entry.prepared = this.prepare(entry.prepared.text, null, entry.queryContext);
      entry.revision = parts.planRevision;
      entry.sequentialScans = sequentialScans;
    }
    return { prepared: entry.prepared, entry };
  }

  /** Whether `choose` failed for a prepared statement that another node may have, by name or by its encoded plan. */
  mayBeOnOtherNode(error: unknown): boolean {
    const isUnknown = error instanceof SqlError && (error.code === 4040 || error.code === 4070);
    return isUnknown && this.unknownName !== null && this.parts.deps.node().nodes.length > 1;
  }

  /** Prepares here the statement that another node has under this name. Returns false if no other node has one. */
  async prepareFromOthers(signal: AbortSignal): Promise<boolean> {
    const { parts, unknownName: name, request } = this;
    const { queryContextText: queryContext } = request;
    if (name === null) return false;
    const found = await untilAborted(signal, parts.deps.otherNodes.prepared(name, queryContext));
    if (found === null) return false;
    const prepared = this.prepare(found.statement, null);
    this.addSigned({ name, queryContext, text: found.text, prepared });
    return true;
  }

  /** Caches the result of PREPARE and returns its entry. */
  cachePrepared(command: PrepareCommand, text: string): PreparedEntry {
    const { parts, request } = this;
    const { queryContextText: queryContext } = request;
    const name =
      command.name ??
      nameOfStatement({ text: command.prepared.text, queryContext }) ??
      parts.deps.random.uuid();
    if (isKvStatement(name)) throw sqlError(4092, name);
    const present = parts.prepared.find(name, queryContext);
    if (present !== undefined && !command.isForced && present.prepared.text !== command.prepared.text)
      throw sqlError(4060, `${name}: it is the name of another statement; use PREPARE FORCE to replace that`);
    return this.addSigned({ name, queryContext, text, prepared: command.prepared });
  }

  /** `auto_prepare`: the plan is cached as a prepared statement whose name is the hash of its text. */
  private automatic(text: string): { prepared: PreparedStatement; entry: PreparedEntry | null } {
    const { parts, request } = this;
    const name = createHash('sha1').update(text).digest('hex');
    if (parts.prepared.find(name, request.queryContextText) !== undefined) return this.byName(name);
    const prepared = this.prepare(text, null);
    const isCacheable = ['SELECT', 'INSERT', 'UPSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(prepared.kind);
    if (!isCacheable) return { prepared, entry: null };
    const entry = { name, queryContext: request.queryContextText, text, encodedPlan: '', prepared };
    return { prepared, entry: this.add(entry, true) };
  }

  /** @throws SqlError 4080 for the plan of another statement of this name */
  private checkPlan({ name, encodedPlan: own, prepared }: PreparedEntry): void {
    const { encodedPlan } = this.request;
    if (encodedPlan === null || encodedPlan === '' || encodedPlan === own) return;
    const plan = this.parts.signedPlans.verify(encodedPlan);
    if (plan?.name === name && plan.text !== prepared.text) throw sqlError(4080, name);
  }

  /** From the request's encoded plan, if this service signed it. */
  private fromPlan(name: string): PreparedEntry | undefined {
    const { encodedPlan } = this.request;
    if (encodedPlan === null || encodedPlan === '') return undefined;
    const plan = this.parts.signedPlans.verify(encodedPlan);
    if (plan === null) throw sqlError(4070);
    if (plan.name !== name) throw sqlError(4090, name, plan.name);
    if (plan.queryContext !== this.request.queryContextText)
      throw sqlError(4091, this.request.queryContextText, plan.queryContext);
    const prepared = this.prepare(plan.text, null);
    return this.add({ ...plan, encodedPlan, prepared });
  }

  /** From a generated name, after a restart or an eviction. */
  private fromName(name: string): PreparedEntry | undefined {
    const named = statementOfName(name);
    if (named === null || named.queryContext !== this.request.queryContextText) return undefined;
    const prepared = this.prepare(named.text, null);
    return this.addSigned({ name, ...named, prepared });
  }

  private addSigned(
    fields: Pick<PreparedEntry, 'name' | 'queryContext' | 'text' | 'prepared'>,
  ): PreparedEntry {
    const { name, queryContext, prepared } = fields;
    const encodedPlan = this.parts.signedPlans.sign({ name, text: prepared.text, queryContext });
    return this.add({ ...fields, encodedPlan });
  }

  private add(
    fields: Pick<PreparedEntry, 'name' | 'queryContext' | 'text' | 'encodedPlan' | 'prepared'>,
    isAutomatic = false,
  ): PreparedEntry {
    const { parts } = this;
    const entry: PreparedEntry = {
      ...fields,
      isAutomatic,
      uses: 0,
      lastUsedMs: 0,
      elapsedMs: 0,
      serviceMs: 0,
      shortestMs: 0,
      longestMs: 0,
      shortestServiceMs: 0,
      longestServiceMs: 0,
      revision: parts.planRevision,
      sequentialScans: this.sequentialScans,
    };
    parts.prepared.add(entry, parts.deps.settings.preparedLimit);
    return entry;
  }

  private adHoc(text: string): PreparedStatement {
    const { positional, named } = this.request;
    return this.cached(text, { positional, named }, (values) => this.prepare(text, values));
  }

  private cached(
    text: string,
    parameters: Pick<ValuesForPlan, 'positional' | 'named'>,
    prepare: (values: ValuesForPlan) => PreparedStatement,
  ): PreparedStatement {
    const { request, parts, sequentialScans, usesStatistics } = this;
    const { queryContextText: queryContext } = request;
    const basis = { text, queryContext, sequentialScans, usesStatistics };
    return parts.plans.planOf(basis, parts.planRevision, parameters, (onParameterRead) =>
      prepare({ ...parameters, onParameterRead }),
    );
  }

  /** `use_cbo` of the request, else of the settings. */
  get usesStatistics(): boolean {
    const { others } = this.parts.deps.settings;
    return this.request.useCbo ?? others['use-cbo'] !== false;
  }

  private get sequentialScans(): boolean {
    const { settings } = this.parts.deps;
    return settings.sequentialScans && !hasBit(this.request.featureControls, noSequentialScans);
  }

  private prepare(text: string, values: ValuesForPlan | null, queryContext?: string): PreparedStatement {
    const context = this.contextOf(values, queryContext);
    if (text.length < longLengthMin) return this.engine.prepare(text, context);
    const plan = this.longPlans.get(text);
    if (plan?.revision === this.parts.planRevision) return plan.prepared;
    if (plan !== undefined && ++this.outdatedPlans >= outdatedPlansMax)
      return this.engine.prepare(text, context);
    throw new LongPlanNeededError(() => this.planLong(text, context));
  }

  /** Definitions may change between the steps: `prepare` uses the plan only while `planRevision` is what it was before the first. */
  private *planLong(text: string, context: PrepareContext): WorkSteps<PreparedStatement> {
    const revision = this.parts.planRevision;
    const prepared = yield* this.engine.prepareSteps(text, context);
    this.longPlans.set(text, { prepared, revision });
    return prepared;
  }

  /** With the `values` of the parameters the planner estimates better; plans of prepared statements must not depend on them. */
  private contextOf(
    values: ValuesForPlan | null,
    context: string | undefined,
    sequentialScans = this.sequentialScans,
  ): PrepareContext {
    const { request, datastore, parts } = this;
    const queryContext = context === undefined ? request.queryContext : parseQueryContext(context);
    const { functions, statistics, edition } = parts.deps;
    return {
      datastore,
      sequentialScans,
      ...(edition === 'community' && { isCommunityEdition: true }),
      ...(this.usesStatistics && { statistics: (keyspace) => statistics.statisticsOf(keyspace) }),
      ...(queryContext !== null && { queryContext }),
      ...values,
      userFunctions: functions.lookupFor(queryContext),
    };
  }
}

/** @throws SqlError 1040 */
function checkLength(text: string): void {
  if (Buffer.byteLength(text) > statementBytesMax)
    throw sqlError(1040, `statement: it is longer than ${statementBytesMax} bytes`);
}

const hasBit = (bits: number | null, bit: number): boolean => bits !== null && (bits & bit) !== 0;
