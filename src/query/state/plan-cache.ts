// Plans of statements that clients send repeatedly without preparing them. A plan is cached when its text is sent the second time:
// statements with their values in the text never repeat. A cached plan is valid while no keyspace, function, statistics or index has changed, for requests with
// equal values of the parameters that the planner read.
import type { PrepareContext, PreparedStatement } from '#sqlpp/run/engine.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';

/** Limits of the cached plans, and of the texts that were sent once. */
const plansMax = 256;
const sentOnceMax = 256;
/** The longest statement whose plan is cached, in characters; a plan takes a multiple of that. */
const textMax = 4 << 10;
/** The longest JSON text, in characters, of a value on which a cached plan depends. */
const valueMax = 256;

type Parameters = Pick<PrepareContext, 'positional' | 'named'>;

interface Plan {
  readonly prepared: PreparedStatement;
  /** The parameters that the planner read, with their values as JSON text; null: the request had none. */
  readonly consulted: ReadonlyMap<string | number, string | null>;
}

/** What a plan depends on besides definitions and values. */
export interface PlanBasis {
  readonly text: string;
  readonly queryContext: string;
  readonly sequentialScans: boolean;
  readonly usesStatistics: boolean;
}

const cachedKinds: ReadonlySet<string> = new Set(['SELECT', 'INSERT', 'UPSERT', 'UPDATE', 'DELETE', 'MERGE']);

export class PlanCache {
  private revision = -1;
  /** Least recently used first. */
  private readonly plans = new Map<string, Plan>();
  private readonly sentOnce = new Set<string>();

  get size(): number {
    return this.plans.size;
  }

  /** The cached plan, or the one that `prepare` makes; it must report each parameter whose value it reads. */
  planOf(
    basis: PlanBasis,
    revision: number,
    parameters: Parameters,
    prepare: (onParameterRead: (parameter: string | number) => void) => PreparedStatement,
  ): PreparedStatement {
    if (revision !== this.revision) this.discardAll(revision);
    const { text, queryContext, sequentialScans, usesStatistics } = basis;
    if (text.length > textMax) return prepare(() => {});
    const key = `${Number(sequentialScans)}${Number(usesStatistics)}${queryContext}\0${text}`;
    const plan = this.plans.get(key);
    if (plan !== undefined && isValidFor(plan, parameters)) {
      this.plans.delete(key);
      this.plans.set(key, plan);
      return plan.prepared;
    }
    const consulted = new Set<string | number>();
    const prepared = prepare((parameter) => consulted.add(parameter));
    if (cachedKinds.has(prepared.kind)) this.keepIfRepeated(key, prepared, valuesOf(consulted, parameters));
    return prepared;
  }

  private keepIfRepeated(
    key: string,
    prepared: PreparedStatement,
    consulted: Plan['consulted'] | null,
  ): void {
    if (consulted === null) return;
    if (!this.plans.has(key) && !this.sentOnce.has(key)) {
      if (this.sentOnce.size >= sentOnceMax) this.sentOnce.clear();
      this.sentOnce.add(key);
      return;
    }
    this.sentOnce.delete(key);
    this.plans.set(key, { prepared, consulted });
    for (const oldest of this.plans.keys()) {
      if (this.plans.size <= plansMax) return;
      this.plans.delete(oldest);
    }
  }

  private discardAll(revision: number): void {
    this.revision = revision;
    this.plans.clear();
  }
}

function isValidFor({ consulted }: Plan, parameters: Parameters): boolean {
  for (const [parameter, text] of consulted) if (textOf(parameter, parameters) !== text) return false;
  return true;
}

/** null: one of the values is too large to compare. */
function valuesOf(consulted: ReadonlySet<string | number>, parameters: Parameters): Plan['consulted'] | null {
  const values = new Map<string | number, string | null>();
  for (const parameter of consulted) {
    const text = textOf(parameter, parameters);
    if (text !== null && text.length > valueMax) return null;
    values.set(parameter, text);
  }
  return values;
}

function textOf(parameter: string | number, { positional = [], named }: Parameters): string | null {
  const isGiven = typeof parameter === 'string' ? named?.has(parameter) : parameter <= positional.length;
  if (!isGiven) return null;
  const value: Value = typeof parameter === 'string' ? named?.get(parameter) : positional[parameter - 1];
  return value === undefined ? '' : jsonText(value);
}
