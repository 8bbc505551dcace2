// Types and helpers that the groups of STAT share.
import { Status } from '#wire/status.ts';
import type { Documents } from '../data/documents.ts';
import { VbucketState } from '../data/vbucket-state.ts';
import type { CommandResult, Request } from '../dispatch/request.ts';

/** Name and value of one statistic. */
export type Figure = readonly [name: string, value: string | number];
export type Figures = Iterable<Figure>;
export type Group = (request: Request, argument: string) => Figures | CommandResult;

/** The vbuckets that can be read, or those of them in one state. */
export function vbucketsIn(documents: Documents | null, state?: VbucketState): number[] {
  const all = Array.from({ length: documents?.vbucketCount ?? 0 }, (_, vb) => vb);
  return all.filter((vb) => {
    const present = documents?.stateOf(vb) ?? VbucketState.dead;
    return state === undefined ? present !== VbucketState.dead : present === state;
  });
}

/** A group about one vbucket if the argument is its number, else about all. */
export function forVbuckets(
  figuresOf: (vb: number, documents: Documents, request: Request) => Figures,
): Group {
  return (request, argument) => {
    const { documents } = request.bucket;
    if (!documents) return Status.temporaryFailure;
    if (argument === '') return each(vbucketsIn(documents), (vb) => figuresOf(vb, documents, request));
    if (!/^\d{1,5}$/.test(argument)) return Status.invalidArguments;
    const vb = Number(argument);
    if (documents.stateOf(vb) === VbucketState.dead) return Status.notMyVbucket;
    return figuresOf(vb, documents, request);
  };
}

function* each(vbuckets: readonly number[], figuresOf: (vb: number) => Figures): Figures {
  for (const vb of vbuckets) yield* figuresOf(vb);
}
