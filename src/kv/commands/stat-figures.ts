// Types and helpers that the groups of STAT share.
import { Status } from '#wire/status.ts';
import type { Documents } from '../data/documents.ts';
import type { Request } from '../dispatch/request.ts';

/** Name and value of one statistic. */
export type Figure = readonly [name: string, value: string | number];
export type Figures = Iterable<Figure>;
export type Group = (request: Request, argument: string) => Figures | Status;

export function activeVbuckets(documents: Documents | null): number[] {
  const all = Array.from({ length: documents?.vbucketCount ?? 0 }, (_, vb) => vb);
  return all.filter((vb) => documents?.isActive(vb));
}

/** A group about one vbucket if the argument is its number, else about all. */
export function forVbuckets(
  figuresOf: (vb: number, documents: Documents, request: Request) => Figures,
): Group {
  return (request, argument) => {
    const { documents } = request.bucket;
    if (!documents) return Status.temporaryFailure;
    if (argument === '') return each(activeVbuckets(documents), (vb) => figuresOf(vb, documents, request));
    if (!/^\d{1,5}$/.test(argument)) return Status.invalidArguments;
    const vb = Number(argument);
    return documents.isActive(vb) ? figuresOf(vb, documents, request) : Status.notMyVbucket;
  };
}

function* each(vbuckets: readonly number[], figuresOf: (vb: number) => Figures): Figures {
  for (const vb of vbuckets) yield* figuresOf(vb);
}
