// Parses the reply subjects and headers of the messages that a push consumer sends.

export interface Delivery {
  readonly revision: number;
  /** The sequence number of this message among those that the consumer sent, from 1. */
  readonly consumerSeq: number;
  /** The number of messages that the server had for the consumer after this one when it sent this one. */
  readonly pending: number;
}

/** The position in the stream, from a message's reply subject; null for another subject. */
export function deliveryOf(reply: string): Delivery | null {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return null;
  // `$JS.ACK[.<domain>.<account>].<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`; newer servers send a
  // domain and an account.
  const first = tokens.length >= 11 ? 4 : 2;
  const [revision, consumerSeq, pending] = [first + 3, first + 4, first + 6].map((index) =>
    Number(tokens[index]),
  );
  if (!Number.isSafeInteger(revision) || !Number.isSafeInteger(consumerSeq) || !Number.isSafeInteger(pending))
    return null;
  return { revision: revision as number, consumerSeq: consumerSeq as number, pending: pending as number };
}

/** The value of a header in the raw text of all headers. */
export function headerIn(headers: string, name: string): string | null {
  const line = headers
    .split('\r\n')
    .find((candidate) => candidate.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}
