// All documents of a collection, vbucket by vbucket, in pages. The first pages of the next vbuckets are requested early.
import { isTransient, StatusError } from '#client/data-port-error.ts';
import { RangeScanner, type ScannedDocument } from '#client/range-scan.ts';
import { realClock } from '#ports/clock.ts';
import type { BucketData } from '../remote/bucket-data.ts';

/** How many scans are open besides the one whose pages are read. */
const aheadMax = 4;
/** How long the start of a scan is repeated after transient failures. */
const retryPauseMs = 20_000;

interface Opened {
  readonly scanner: RangeScanner;
  readonly first: ScannedDocument[] | null;
}

export interface ScannedPage {
  readonly vb: number;
  readonly documents: readonly ScannedDocument[];
  /** The vbucket has no further page. */
  readonly isLast: boolean;
}

/** Yields the pages of all vbuckets from `fromVb` on. */
export async function* pagesOf(
  data: BucketData,
  collectionId: number,
  fromVb: number,
  signal: AbortSignal,
): AsyncGenerator<ScannedPage> {
  const ahead: Promise<Opened>[] = [];
  let next = fromVb;
  try {
    for (let vb = fromVb; vb < data.vbucketCount; vb++) {
      while (ahead.length < aheadMax && next < data.vbucketCount)
        ahead.push(opened(data, collectionId, next++));
      const { scanner, first } = await (ahead.shift() as Promise<Opened>);
      try {
        for (let page = first; page !== null; page = await scanner.next()) {
          signal.throwIfAborted();
          yield { vb, documents: page, isLast: false };
        }
      } finally {
        scanner.cancel();
      }
      yield { vb, documents: [], isLast: true };
    }
  } finally {
    // The caller may end before these scans, which were opened early.
    for (const one of ahead) one.then(({ scanner }) => scanner.cancel()).catch(() => {});
  }
}

function opened(data: BucketData, collectionId: number, vb: number): Promise<Opened> {
  const opening = open(data, collectionId, vb);
  opening.catch(() => {}); // the reader awaits it later
  return opening;
}

async function open(data: BucketData, collectionId: number, vb: number): Promise<Opened> {
  const sinceMs = realClock.monotonicMs();
  for (;;) {
    const scan = { vb, collectionId, keysOnly: false, withXattrs: false };
    const scanner = new RangeScanner(data.senderOf(vb), scan);
    try {
      return { scanner, first: await scanner.next() };
    } catch (error) {
      const mayRetry = error instanceof StatusError && isTransient(error.status);
      if (!mayRetry || realClock.monotonicMs() - sinceMs > retryPauseMs) throw error;
      await data.reroute(error.status);
    }
  }
}
