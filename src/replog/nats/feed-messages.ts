// Parses the reply subjects and headers of the messages that a push consumer sends.

export interface Delivery {
  readonly revision: number;
  /** The number of this message among those that the consumer sent, from 1. */
  readonly count: number;
  /** Messages that the consumer will send after this one, as far as it knows now. */
  readonly pending: number;
}

/** The position in the stream, from a message's reply subject; null for another subject. */
export function deliveryOf(reply: string): Delivery | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  // Newer servers name a domain and an account before the stream.
  const first = tokens.length >= 11 ? 4 : 2;
  const [revision, count, pending] = [first + 3, first + 4, first + 6].map((index) => Number(tokens[index]));
  if (!Number.isSafeInteger(revision) || !Number.isSafeInteger(count) || !Number.isSafeInteger(pending))
    return null;
  return { revision: revision as number, count: count as number, pending: pending as number };
}

/** The value of a header in the raw text of all headers. */
export function headerIn(headers: string, name: string): string | null {
  const line = headers
    .split('\r\n')
    .find((candidate) => candidate.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}
