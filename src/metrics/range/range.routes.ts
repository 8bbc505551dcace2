// Handlers for range queries. Each series is authorized separately: one of a bucket, scope or collection requires the permission
// to read its statistics, one of the node requires that permission for all buckets.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Input, reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Labels } from '../sample.ts';
import type { RangeCaller, RangeNode } from './node-rows.ts';
import * as contract from './range.contract.ts';
import { rangeRefusals } from './range.refusals.ts';
import { RangeService } from './range.service.ts';
import { RangeBudget } from './range-budget.ts';
import { type Problems, type RangeRequest, readItem, readPathRequest } from './range-request.ts';

interface RangeDeps {
  clock: Clock;
  /** The nodes of the cluster, this one first. */
  nodesOf(context: Context): RangeNodes;
}

type RangeNodes = readonly [RangeNode, ...RangeNode[]];

const itemsMax = 1_000;
const defaultPort = 8091;

export function rangeRoutes({ clock, nodesOf }: RangeDeps): BoundRoute[] {
  const service = new RangeService({ clock });
  const rangeCallerOf = (context: Context): RangeCaller => ({
    ...readerOf(context),
    budget: new RangeBudget({ clock, signal: context.signal }),
  });
  const answerOne = async ({ params, query }: Input<Record<string, string>, unknown>, context: Context) => {
    const functions = params['functions']?.split('/') ?? [];
    const read = readPathRequest(params['metric'] as string, functions, query, clock.wallMs());
    const nodes = nodesOf(context);
    const problems = 'problems' in read ? read.problems : unknownNodes(read.value, nodes);
    if ('problems' in read || Object.keys(problems).length > 0) throw generalRefusals.invalidFields(problems);
    const wanted = wantedNodes(read.value, nodes);
    return reply.jsonText(await service.answer(read.value, wanted, rangeCallerOf(context)));
  };
  return [
    bind(contract.RangeWithoutMetric, () => {
      throw rangeRefusals.noMetric();
    }),
    bind(contract.Range, answerOne),
    bind(contract.RangeOfFunctions, answerOne),
    bind(contract.Ranges, async ({ body }, context) => {
      const nodes = nodesOf(context);
      const requests = readList(body, clock.wallMs(), nodes);
      const caller = rangeCallerOf(context);
      const answers: string[] = [];
      for (const request of requests) {
        if (context.signal.aborted) break;
        answers.push(await service.answer(request, wantedNodes(request, nodes), caller));
      }
      return reply.jsonText(`[${answers.join(',')}]`);
    }),
  ];
}

function readList(body: unknown, nowMs: number, nodes: RangeNodes): RangeRequest[] {
  if (!Array.isArray(body)) throw rangeRefusals.noList();
  if (body.length > itemsMax) throw rangeRefusals.tooManyRequests(itemsMax);
  const reads = body.map((item) => readItem(item, nowMs));
  const problems = reads.map((read) =>
    'problems' in read ? read.problems : unknownNodes(read.value, nodes),
  );
  if (problems.some((problem) => Object.keys(problem).length > 0))
    throw rangeRefusals.invalidRequests(problems);
  return reads.flatMap((read) => ('value' in read ? [read.value] : []));
}

/** Whether this name in a request means this node. */
const isNamed = ({ names }: RangeNode, name: string): boolean =>
  names.includes(name) || names.includes(`${name}:${defaultPort}`);

/** Requested nodes that the cluster does not have. */
function unknownNodes({ nodes }: RangeRequest, all: RangeNodes): Problems {
  const unknown = (nodes ?? []).filter((name) => !all.some((node) => isNamed(node, name)));
  return unknown.length === 0 ? {} : { nodes: `Unknown hostnames: ${JSON.stringify(unknown)}` };
}

function wantedNodes({ nodes }: RangeRequest, all: RangeNodes): RangeNodes {
  const [first, ...others] = all.filter((node) => nodes?.some((name) => isNamed(node, name)) ?? true);
  return first === undefined ? all : [first, ...others];
}

function readerOf(context: Context): Pick<RangeCaller, 'seesAll' | 'visible'> {
  const seesAll = context.may('cluster.bucket[*].stats!read');
  const decisions = new Map<string, boolean>();
  const visible = (labels: Labels) => {
    if (seesAll) return true;
    const permission = permissionFor(labels);
    if (permission === null) return false;
    const before = decisions.get(permission);
    if (before !== undefined) return before;
    const may = context.may(permission);
    decisions.set(permission, may);
    return may;
  };
  return { seesAll, visible };
}

/** Null for series that belong to no bucket. */
function permissionFor({ bucket, scope, collection }: Labels): string | null {
  if (bucket === undefined) return null;
  if (scope === undefined) return `cluster.bucket[${bucket}].stats!read`;
  if (collection === undefined) return `cluster.scope[${bucket}:${scope}].stats!read`;
  return `cluster.collection[${bucket}:${scope}:${collection}].stats!read`;
}
